from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_core import Context, Image, Result, ToolCall, ToolError, tool
from tools_runtime import Executor
from tools_runtime.plugins import OutputBudget

PNG = b"\x89PNG\r\n\x1a\n" + bytes(100_000)


@tool(read_only=True)
def produce(text: str) -> str:
    return text


def cut(budget, text, context):
    """The result with that text."""
    executor = Executor([produce], hooks=[budget], plugins=False)
    return executor.call(ToolCall(None, "produce", {"text": text}), context=context)


def read(budget, context, handle, **arguments):
    executor = Executor([budget.tool], hooks=[budget], plugins=False)
    return executor.call(ToolCall(None, "read_output", {"handle": handle, **arguments}), context=context)


def read_all(budget, context, handle):
    """All that `read_output` returns, one part after the other, as a model would read it."""
    parts, offset = [], 0
    while True:
        text, _, notice = read(budget, context, handle, offset=offset).output.rpartition("\n")
        parts.append(text)
        start, end, size, more = re.fullmatch(r"\[characters (\d+) to (\d+) of (\d+); (.*)\]", notice).groups()
        assert int(start) == offset and int(end) > offset
        offset = int(end)
        if more == "this is the end":
            assert end == size
            return "".join(parts)
        assert more == f"continue with offset={end}"


def test_head_and_tail_remain_and_the_numbers_are_exact(run, calls):
    text = "0123456789" + "abc\n" * 50 + "9876543210"
    [result] = run([produce], calls("produce", {"text": text}), [OutputBudget(20)])
    handle = result.metadata["cut"]["handle"]
    assert result.content == (
        "0123456789\n[200 of 220 characters (50 line breaks) are omitted; "
        f'read_output(handle="{handle}", offset=10) continues]\n9876543210'
    )
    assert result.metadata["cut"] == {"characters": 200, "lines": 50, "of": 220, "offset": 10, "handle": handle}
    assert result.output == text  # for programs


@given(text=st.text(min_size=1, max_size=300), size=st.integers(1, 80))
def test_any_text_can_be_read_in_full(text, size):
    budget, context = OutputBudget(size), Context()
    result = cut(budget, text, context)
    if "cut" not in result.metadata:
        assert result.content == text and len(text) <= size
        return
    head, _, tail = re.fullmatch(r"(.*)\n(\[\d+ of [^\n]*\])\n(.*)", result.content, re.DOTALL).groups()
    numbers = result.metadata["cut"]
    assert len(head + tail) == size and text.startswith(head) and text.endswith(tail)
    assert (numbers["characters"], numbers["offset"]) == (len(text) - size, len(head))
    assert read_all(budget, context, numbers["handle"]) == text


def test_parts_are_read_by_offset_and_limit():
    budget, context = OutputBudget(10), Context()
    handle = cut(budget, "0123456789" * 2, context).metadata["cut"]["handle"]
    assert read(budget, context, handle, offset=5, limit=2).output == (
        "56\n[characters 5 to 7 of 20; continue with offset=7]"
    )
    assert read(budget, context, handle, limit=10**9).output.startswith("0123456789\n")  # not more than the budget
    assert read(budget, context, handle, offset=10**30).output == "\n[characters 20 to 20 of 20; this is the end]"
    for wrong in ({"offset": -1}, {"limit": 0}):
        assert read(budget, context, handle, **wrong).error_type == "validation_error"


def test_runs_do_not_share_stored_outputs():
    budget, mine, other = OutputBudget(10, outputs=2, max_stored=1000), Context(), Context()
    handle = cut(budget, "x" * 100, mine).metadata["cut"]["handle"]
    refused = read(budget, other, handle)
    assert refused.error_type == "not_found" and "call the tool again" in refused.error
    for _ in range(20):
        cut(budget, "y" * 900, other)
    assert read(budget, mine, handle).ok


def test_a_key_shares_outputs_among_runs(by_user):
    key, of = by_user
    budget = OutputBudget(10, key=key)
    handle = cut(budget, "x" * 100, of("ann")).metadata["cut"]["handle"]
    assert [read(budget, of(user), handle).ok for user in ("ann", "bob")] == [True, False]


def test_stored_outputs_are_limited_and_the_oldest_are_dropped():
    for budget in (OutputBudget(10, outputs=2), OutputBudget(10, max_stored=250)):
        context = Context()
        handles = [cut(budget, "x" * 100, context).metadata["cut"]["handle"] for _ in range(3)]
        assert [read(budget, context, handle).ok for handle in handles] == [False, True, True]
    result = cut(budget, "x" * 300, context)
    assert "it was not stored" in result.content and result.metadata["cut"]["handle"] is None


def test_errors_are_cut_and_stay_errors(call):
    @tool
    def fail() -> None:
        raise ToolError("no " * 1000, "conflict")

    result = call(fail, [OutputBudget(100)])
    assert result.error_type == "conflict" and isinstance(result.exception, ToolError)
    assert "2900 of 3000 characters" in result.error


def test_several_texts_are_cut_as_one_and_images_stay(call):
    pages = tool(lambda: Result.ok(content=[*["page"] * 5000, Image(PNG), "end"]), name="pages")
    result = call(pages, [OutputBudget(100)])
    text, image = result.content
    assert image == Image(PNG) and len(text) < 300 and text.endswith("page\nend")
    assert result.metadata["cut"]["of"] == len("page\n") * 5000 + len("end")


@pytest.mark.parametrize("options", [{"max_characters": 0}, {"outputs": 0}, {"max_stored": 0}])
def test_an_invalid_budget_is_refused(options):
    with pytest.raises(ValueError, match="at least 1"):
        OutputBudget(**options)
