from __future__ import annotations

import asyncio

import pytest

from tools_core import Context, Image, ToolCall, ToolError, tool
from tools_runtime import Executor
from tools_runtime.plugins import Cache, LoopDetector

PNG = b"\x89PNG\r\n\x1a\n"


@tool(read_only=True)
def look(place: str = "here") -> str:
    return f"nothing {place}"


@tool
def fail() -> None:
    raise ToolError("no way", "conflict")


def conversation(hook, *wanted, context=None, tools=(look, fail)):
    """The results of calls that a model makes one after the other."""
    executor = Executor(tools, hooks=[hook], plugins=False)
    context = Context() if context is None else context
    return [executor.call(ToolCall(None, name, arguments), context) for name, arguments in wanted]


HERE, THERE, FAIL = ("look", {}), ("look", {"place": "there"}), ("fail", {})
WARNING = (
    "[Warning: the same call with the same arguments gave the same result 3 times in a row. "
    "Do something else, or say what keeps you from it.]"
)


def loops(results):
    return [result.metadata.get("loop") for result in results]


def test_the_third_time_the_model_is_told(run, calls):
    context = Context()
    hook = LoopDetector()
    results = [run([look], calls("look", {}), [hook], context)[0] for _ in range(3)]
    assert [result.content for result in results] == ["nothing here"] * 2 + [f"nothing here\n\n{WARNING}"]
    assert results[2].output == "nothing here" and results[2].metadata["loop"] == {"period": 1, "repeats": 3}


def test_a_cycle_of_several_calls_is_a_loop_as_well():
    results = conversation(LoopDetector(), *[HERE, THERE, FAIL] * 3)
    assert loops(results) == [None] * 8 + [{"period": 3, "repeats": 3}]
    assert "no way\n\n[Warning: the same 3 calls with the same results were repeated 3 times" in str(results[8])
    assert results[8].error_type == "conflict"


def test_a_cycle_longer_than_the_longest_is_not_seen():
    places = [("look", {"place": str(number)}) for number in range(5)]
    assert loops(conversation(LoopDetector(cycle=4), *places * 4)) == [None] * 20
    assert loops(conversation(LoopDetector(cycle=5), *places * 3))[-1] == {"period": 5, "repeats": 3}


def test_other_arguments_another_tool_or_another_result_end_it():
    assert loops(conversation(LoopDetector(), HERE, HERE, THERE, HERE, HERE)) == [None] * 5
    count = iter(range(10))

    @tool
    def poll() -> int:
        return next(count)

    assert loops(conversation(LoopDetector(), *[("poll", {})] * 6, tools=[poll])) == [None] * 6


def test_the_order_of_arguments_does_not_matter():
    @tool
    def add(a: int, b: int) -> int:
        return a + b

    wanted = [("add", {"a": 1, "b": 2}), ("add", {"b": 2, "a": 1}), ("add", '{"b": 2, "a": 1}')]
    assert loops(conversation(LoopDetector(), *wanted, tools=[add]))[-1]


def test_conversations_are_not_mixed():
    hook = LoopDetector()
    ann, bob = Context(state={"session_id": 1}), Context(state={"session_id": 2})
    for _ in range(2):
        assert loops(conversation(hook, HERE, context=ann) + conversation(hook, HERE, context=bob)) == [None, None]
    again = Context(state={"session_id": 1})  # made anew, as between two requests
    assert loops(conversation(hook, HERE, context=again)) != [None]
    for _ in range(9):  # without a session each context is a conversation
        assert loops(conversation(hook, HERE)) == [None]
    assert loops(conversation(LoopDetector(key=lambda context: "all"), HERE, context=ann)) == [None]


def test_a_key_of_the_callers_own_tells_conversations_apart():
    hook = LoopDetector(key=lambda context: context.workspace)
    results = [conversation(hook, HERE, context=Context(workspace="/somewhere"))[0] for _ in range(3)]
    assert loops(results)[-1]


def test_in_the_end_the_call_is_refused_until_the_model_does_something_else(run, calls):
    made: list[int] = []

    @tool
    def search() -> str:
        made.append(1)
        return "nothing"

    hook, context = LoopDetector(2, stop_after=3), Context()
    results = [run([search, look], calls("search", {}), [hook], context)[0] for _ in range(6)]
    assert len(made) == 3
    assert [result.error_type for result in results] == [None] * 3 + ["limit_exceeded"] * 3
    assert "was not made: the same call with the same arguments gave the same result 3 times" in str(results[-1])
    assert run([search, look], calls("look", {}), [hook], context)[0].is_ok
    assert run([search, look], calls("search", {}), [hook], context)[0].output == "nothing"


def test_of_a_cycle_only_the_call_that_goes_on_with_it_is_refused():
    hook, context = LoopDetector(2, stop_after=3), Context()
    conversation(hook, *[HERE, THERE] * 3, context=context)
    [there, here] = conversation(hook, THERE, HERE, context=context)
    assert there.is_ok  # it is the turn of the other one, and with this call the cycle ends
    assert here.is_ok
    hook, context = LoopDetector(2, stop_after=3), Context()
    conversation(hook, *[HERE, THERE] * 3, context=context)
    assert conversation(hook, HERE, context=context)[0].error_type == "limit_exceeded"


def test_a_warning_is_added_to_pictures_and_json_too():
    @tool
    def draw() -> list[object]:
        return [Image(PNG)]

    @tool
    def count() -> dict[str, int]:
        return {"n": 1}

    result = conversation(LoopDetector(), *[("draw", {})] * 3, tools=[draw])[-1]
    assert result.content == (Image(PNG), WARNING)
    result = conversation(LoopDetector(), *[("count", {})] * 3, tools=[count])[-1]
    assert result.output == {"n": 1} and result.content == '{"n":1}\n\n' + WARNING


def test_results_from_a_cache_count_like_others():
    context, executor = Context(), Executor([look], hooks=[LoopDetector(), Cache()], plugins=False)
    results = [executor.call(ToolCall(None, "look", {}), context) for _ in range(3)]
    assert results[1].metadata["cached"] and results[2].metadata["loop"]


def test_broken_and_unknown_calls_are_loops_too():
    assert loops(conversation(LoopDetector(), *[("look", "{broken")] * 3))[-1]
    assert loops(conversation(LoopDetector(), *[("nothing", {})] * 3))[-1]


def test_arguments_that_nobody_can_write_down_are_for_the_tool_to_refuse():
    deep = {}
    for _ in range(100_000):
        deep = {"place": deep}
    results = conversation(LoopDetector(), ("look", deep), *[("look", {"place": 10**5000})] * 3)
    assert [result.error_type for result in results] == ["validation_error"] * 4
    assert loops(results)[0] is None


def test_memory_is_bounded():
    hook = LoopDetector(cycle=2, stop_after=4)
    for number in range(1100):
        conversation(hook, HERE, context=Context(state={"session_id": number}))
    assert len(hook._histories) == 1000
    conversation(hook, *[("look", {"place": str(number)}) for number in range(50)], context=Context(state={}))
    assert max(len(history) for history, _ in hook._histories.values()) == 8


def test_a_thousand_conversations_in_one_event_loop_need_no_threads(calls, threads):
    @tool
    async def talk() -> str:
        threads.look()
        await asyncio.sleep(0)
        return "hm"

    executor = Executor([talk], runtime="async", hooks=[LoopDetector()], plugins=False)

    async def main():
        contexts = [Context(state={"session_id": number}) for number in range(1000)]
        return await asyncio.gather(*(executor.aexecute(calls("talk", {}, {}, {}), context) for context in contexts))

    for pairs in asyncio.run(main()):
        assert sum("loop" in result.metadata for _, result in pairs) == 1
    assert threads.most <= 2


@pytest.mark.parametrize("options", [{"repeats": 1}, {"cycle": 0}, {"stop_after": 2}])
def test_options_that_mean_nothing_are_refused(options):
    with pytest.raises(ValueError, match="repeats is 2 or more"):
        LoopDetector(**options)
