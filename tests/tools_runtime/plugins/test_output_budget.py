from __future__ import annotations

import asyncio
import gc
import os
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_core import Halt, Image, Result, ToolCall, ToolError, tool
from tools_runtime import Executor
from tools_runtime.plugins import OutputBudget

PNG = b"\x89PNG\r\n\x1a\n" + bytes(100_000)


@tool(read_only=True)
def produce(text: str) -> str:
    return text


def cut(budget, text):
    """A result of that text, cut, and the executor that can read on."""
    executor = Executor([produce, budget.tool], hooks=[budget], plugins=False)
    return executor.call(ToolCall(None, "produce", {"text": text})), executor


def read_all(executor, handle, offset=0):
    """All that `read_output` gives, one part after the other, as a model would read it."""
    parts = []
    while True:
        result = executor.call(ToolCall(None, "read_output", {"handle": handle, "offset": offset}))
        text, _, notice = result.output.rpartition("\n")
        parts.append(text)
        start, end, size, more = re.fullmatch(r"\[bytes (\d+) to (\d+) of (\d+); (.*)\]", notice).groups()
        assert int(start) == offset and int(end) > offset
        offset = int(end)
        if more == "this is the end":
            assert end == size
            return "".join(parts)
        assert more == f"go on with offset={end}"


def test_head_and_tail_are_kept_and_the_numbers_are_exact(run, calls):
    budget = OutputBudget(20)
    text = "0123456789" + "abc\n" * 50 + "9876543210"
    [result] = run([produce, budget.tool], calls("produce", {"text": text}), [budget])
    handle = result.metadata["cut"]["handle"]
    assert result.content == (
        "0123456789\n[200 of 220 bytes, with 50 line breaks, are left out here; "
        f'read_output(handle="{handle}", offset=10) reads on]\n9876543210'
    )
    assert result.metadata["cut"] == {"bytes": 200, "lines": 50, "of": 220, "offset": 10, "handle": handle}
    assert result.output == text  # for programs


def test_what_fits_is_left_as_it_is():
    for text in ("", "x" * 20, "é" * 10):
        result, _ = cut(OutputBudget(20), text)
        assert result.content == text and result.metadata == {}
    assert "cut" in cut(OutputBudget(20), "é" * 11)[0].metadata


@given(
    text=st.text(st.characters(codec=None), min_size=1, max_size=300) | st.text("\ud83d\ude00é€😀\n", min_size=1),
    size=st.integers(1, 80),
)
def test_any_text_is_cut_between_characters_and_can_be_read_in_full(text, size):
    budget = OutputBudget(size)
    hook = budget.around_tool_call(None)
    next(hook)
    with pytest.raises(StopIteration) as ended:
        hook.send(Result.ok(text))
    result = ended.value.value
    if result is None:
        assert len(text.encode(errors="surrogatepass")) <= size
        return
    head, _, tail = re.fullmatch(r"(.*)\n(\[\d+ of [^\n]*\])\n(.*)", result.content, re.DOTALL).groups()
    assert text.startswith(head) and text.endswith(tail)
    assert len((head + tail).encode(errors="surrogatepass")) <= size
    numbers = result.metadata["cut"]
    left_out = text[len(head) : len(text) - len(tail)]
    assert numbers["bytes"] == len(left_out.encode(errors="surrogatepass"))
    assert numbers["lines"] == left_out.count("\n")
    for text_before, text_after in ((head, left_out), (left_out, tail)):
        assert not re.search(r"[\ud800-\udbff]\Z", text_before) or not re.match("[\udc00-\udfff]", text_after)
    executor = Executor([budget.tool], hooks=[budget], plugins=False)
    assert read_all(executor, numbers["handle"]) == text


def test_a_pair_of_surrogates_is_never_parted():
    text = "\ud83d\ude00" * 20  # as JSON text can bring them, each half a character of its own
    talk = tool(lambda: "x" + text, name="talk")
    for size in range(1, 119):
        budget = OutputBudget(size)
        executor = Executor([talk, budget.tool], hooks=[budget], plugins=False)
        result = executor.call(ToolCall(None, "talk"))
        head, _, tail = re.split(r"\n(\[.*\])\n", result.content)
        assert (len(head) - 1) % 2 == 0 or not head
        assert len(tail) % 2 == 0
        assert read_all(executor, result.metadata["cut"]["handle"]) == "x" + text


@pytest.mark.parametrize("size", [100, 300_000])
def test_the_rest_is_read_from_memory_and_from_a_file(size):
    text = "".join(f"line {number} é😀\n" for number in range(size // 10))
    budget = OutputBudget(5_000)
    result, executor = cut(budget, text * (1 if size > 100 else 60))
    assert read_all(executor, result.metadata["cut"]["handle"]) == text * (1 if size > 100 else 60)
    budget.close()


def test_an_offset_inside_a_character_and_past_the_end_are_answered():
    budget = OutputBudget(10)
    result, executor = cut(budget, "😀" * 20)
    handle = result.metadata["cut"]["handle"]

    def read(**arguments):
        return executor.call(ToolCall(None, "read_output", {"handle": handle, **arguments}))

    assert read(offset=5, limit=8).output == "😀😀\n[bytes 8 to 16 of 80; go on with offset=16]"
    assert read(offset=80).output == read(offset=10**30).output == "\n[bytes 80 to 80 of 80; this is the end]"
    assert read(offset=76, limit=1).output == "😀\n[bytes 76 to 80 of 80; this is the end]"
    assert read(offset=-1).error_type == read(limit=0).error_type == "validation_error"


def test_errors_are_cut_and_stay_errors():
    @tool
    def fail() -> None:
        raise ToolError("no " * 1000, "conflict")

    budget = OutputBudget(100)
    result = Executor([fail], hooks=[budget]).call(ToolCall(None, "fail"))
    assert (result.error_type, result.is_error) == ("conflict", True)
    assert "2900 of 3000 bytes" in result.error_message and isinstance(result.exception, ToolError)


def test_a_halt_stays_a_halt_and_structured_output_stays_whole():
    @tool
    def finish() -> list[int]:
        raise Halt(list(range(1000)))

    result = Executor([finish], hooks=[OutputBudget(100)]).call(ToolCall(None, "finish"))
    assert result.is_halted and result.output == list(range(1000))
    assert result.content.startswith("[0,1,2,") and len(result.content) < 400


def test_images_are_left_alone_and_texts_beside_them_share_the_budget():
    @tool
    def look() -> list[object]:
        return ["a" * 1000, Image(PNG), "b" * 1000, "short"]

    result = Executor([look], hooks=[OutputBudget(300)]).call(ToolCall(None, "look"))
    first, image, second, short = result.content
    assert image == Image(PNG) and short == "short"
    assert first.startswith("a" * 50 + "\n[") and second.startswith("b" * 50 + "\n[")
    assert [one["of"] for one in result.metadata["cut"]] == [1000, 1000]


def test_many_short_texts_in_a_row_are_cut_as_one():
    @tool
    def pages() -> Result:
        return Result.ok(content=[Image(PNG), *["page"] * 5000])

    budget = OutputBudget(max_bytes=100)
    result = Executor([pages], hooks=[budget], plugins=False).call(ToolCall(None, "pages"))
    image, text = result.content
    assert isinstance(image, Image) and len(text) < 300
    assert result.metadata["cut"]["of"] == len("page\n") * 5000 - 1


def test_the_own_tool_is_not_cut_again_but_keeps_to_the_budget():
    budget = OutputBudget(1000)
    result, executor = cut(budget, "x" * 10_000)
    handle = result.metadata["cut"]["handle"]
    read = executor.call(ToolCall(None, "read_output", {"handle": handle, "limit": 5000}))
    assert read.output.count("x") == 1000 and "cut" not in read.metadata


def test_tokens_are_bytes_by_four_unless_somebody_counts():
    assert cut(OutputBudget(tokens=10), "x" * 400)[0].metadata["cut"]["bytes"] == 360

    def words(text):
        return len(text.split())

    budget = OutputBudget(tokens=20, count=words)
    text = "a " * 200 + "veryveryverylongwords " * 200
    result, executor = cut(budget, text)
    head, _, tail = re.split(r"\n(\[.*\])\n", result.content)
    assert 10 <= words(head + tail) <= 20
    assert cut(budget, "word " * 20)[0].metadata == {}
    assert read_all(executor, result.metadata["cut"]["handle"]) == text


def test_handles_cannot_be_guessed_and_are_known_to_their_own_budget_only():
    mine, others = OutputBudget(10), OutputBudget(10)
    result, executor = cut(mine, "x" * 100)
    handle = result.metadata["cut"]["handle"]
    assert re.fullmatch("[0-9a-f]{24}", handle) and handle != cut(mine, "x" * 100)[0].metadata["cut"]["handle"]
    _, elsewhere = cut(others, "y" * 100)
    for known, wanted in ((executor, "0" * 24), (executor, ""), (elsewhere, handle)):
        answer = known.call(ToolCall(None, "read_output", {"handle": wanted}))
        assert answer.error_type == "not_found" and "call the tool again" in answer.error_message


def test_outputs_are_bounded_in_number_and_bytes_and_the_oldest_go_first():
    budget = OutputBudget(10, outputs=2)
    handles = [cut(budget, "x" * 100)[0].metadata["cut"]["handle"] for _ in range(3)]
    _, executor = cut(OutputBudget(10), "")
    executor = Executor([budget.tool])
    ok = [executor.call(ToolCall(None, "read_output", {"handle": handle})).is_ok for handle in handles]
    assert ok == [False, True, True]
    small = OutputBudget(10, max_kept=1000)
    for _ in range(30):
        cut(small, "x" * 300)
    assert small._store._size <= 1000
    result, _ = cut(small, "x" * 2000)
    assert "could not be kept" in result.content and result.metadata["cut"]["handle"] is None


def open_files():
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


def test_files_are_closed_when_outputs_go_when_the_budget_is_closed_and_when_it_is_collected():
    gc.collect()
    before = open_files()
    budget = OutputBudget(10, outputs=3)
    result = None
    for _ in range(10):
        result, executor = cut(budget, "x" * 500_000)
    assert open_files() <= before + 3
    budget.close()
    assert open_files() == before
    handle = result.metadata["cut"]["handle"]
    assert executor.call(ToolCall(None, "read_output", {"handle": handle})).error_type == "not_found"
    cut(budget, "x" * 500_000)
    del budget, executor, result
    gc.collect()
    assert open_files() == before


def test_a_full_disk_costs_the_rest_and_not_the_result(monkeypatch):
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    import tempfile

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda: open("/dev/full", "wb", buffering=0))  # noqa: SIM115
    result, _ = cut(OutputBudget(10), "x" * 500_000)
    assert result.is_ok and "could not be kept" in result.content


def test_a_thousand_calls_in_one_event_loop_need_no_threads(calls, threads):
    @tool
    async def talk() -> str:
        await asyncio.sleep(0)
        threads.look()
        return "x" * 1000

    budget = OutputBudget(100, outputs=1000)
    executor = Executor([talk], runtime="async", hooks=[budget])
    pairs = asyncio.run(executor.aexecute(calls("talk", *[{}] * 1000)))
    assert len({result.metadata["cut"]["handle"] for _, result in pairs}) == 1000
    assert threads.most <= 2


@pytest.mark.parametrize(
    "options",
    [{"max_bytes": 0}, {"tokens": 0}, {"max_bytes": 1, "tokens": 1}, {"count": len}, {"outputs": 0}, {"max_kept": 0}],
)
def test_a_budget_that_means_nothing_is_refused(options):
    with pytest.raises(ValueError, match=r"budget is in|say how many|1 or more"):
        OutputBudget(**options)
