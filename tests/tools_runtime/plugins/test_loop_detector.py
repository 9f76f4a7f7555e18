from __future__ import annotations

import itertools
import json

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


def conversation(hook, *requests, context=None, tools=(look, fail)):
    """The results of calls that a model makes one after the other in one run."""
    hooks = hook if isinstance(hook, list) else [hook]
    executor = Executor(tools, hooks=hooks, plugins=False)
    context = Context() if context is None else context
    return [executor.call(ToolCall(None, name, arguments), context=context) for name, arguments in requests]


def loops(results):
    return [result.metadata.get("loop") for result in results]


HERE, THERE, FAIL = ("look", {}), ("look", {"place": "there"}), ("fail", {})
WARNING = (
    "[Warning: the same call with the same arguments gave the same result 3 times in a row. "
    "Try something else, or explain why you cannot.]"
)


def test_a_repeated_call_with_the_same_result_adds_a_warning(run, calls):
    context, hook = Context(), LoopDetector()
    results = [run([look], calls("look", {}), [hook], context)[0] for _ in range(4)]
    assert loops(results) == [None, None, {"period": 1, "repeats": 3}, {"period": 1, "repeats": 4}]
    assert results[2].content == f"nothing here\n\n{WARNING}" and results[2].output == "nothing here"


def test_a_cycle_of_several_calls_is_a_loop(run, calls):
    results = conversation(LoopDetector(), *[HERE, THERE, FAIL] * 3)
    assert loops(results)[:-1] == [None] * 8 and loops(results)[-1] == {"period": 3, "repeats": 3}
    assert results[-1].error_type == "conflict"
    assert "no way\n\n[Warning: the same 3 calls with the same results" in results[-1].error


@pytest.mark.parametrize(
    "requests",
    [[HERE, THERE] * 2, [HERE, HERE, THERE, HERE], [("look", {"place": str(n)}) for n in range(9)]],
    ids=["too-few", "interrupted", "different"],
)
def test_other_calls_are_not_a_loop(requests):
    assert not any(loops(conversation(LoopDetector(), *requests)))


def test_calls_with_other_results_are_not_a_loop_but_durations_do_not_count():
    counts = itertools.count()
    poll = tool(lambda: f"{next(counts)} of 9 done", name="poll")
    bash = tool(lambda: f"error\n[exit 1 after {next(counts)}.25 s]", name="bash")
    assert not any(loops(conversation(LoopDetector(), *[("poll", {})] * 5, tools=[poll])))
    assert loops(conversation(LoopDetector(), *[("bash", {})] * 3, tools=[bash]))[-1]


def test_another_run_is_another_conversation_and_a_key_shares_one(by_user):
    hook = LoopDetector(2)
    assert not any(loops(conversation(hook, HERE) + conversation(hook, HERE)))
    key, of = by_user
    hook = LoopDetector(2, key=key)
    warnings = [loops(conversation(hook, HERE, context=of(user)))[0] for user in ("ann", "bob", "ann")]
    assert [bool(warning) for warning in warnings] == [False, False, True]


def test_a_warning_is_added_to_pictures_and_json_too():
    draw = tool(lambda: [Image(PNG)], name="draw")
    count = tool(lambda: {"n": 1}, name="count")
    assert conversation(LoopDetector(), *[("draw", {})] * 3, tools=[draw])[-1].content == (Image(PNG), WARNING)
    result = conversation(LoopDetector(), *[("count", {})] * 3, tools=[count])[-1]
    assert result.output == {"n": 1}
    assert json.loads(result.content) == {"n": 1, "warning": WARNING[1:-1]}


@pytest.mark.parametrize("value", [[1, 2], [], {}, 7, True, {"warning": "mine"}, '{"a": 1}', "[1]"])
def test_json_stays_json(value):
    same = tool(lambda: value, name="same")
    result = conversation(LoopDetector(), *[("same", {})] * 3, tools=[same])[-1]
    assert result.metadata["loop"]["repeats"] == 3
    read, original = json.loads(result.content), json.loads(value) if isinstance(value, str) else value
    assert read == (original if not isinstance(original, dict) else {**read, **original})


def test_equal_calls_of_one_batch_count_once():
    executor = Executor([look], hooks=[LoopDetector()], plugins=False)
    context = Context()
    for warnings in (0, 0, 1):
        found = executor.execute([ToolCall(str(at), "look") for at in range(3)], context)
        assert sum("loop" in result.metadata for _, result in found) == warnings


def test_calls_that_wait_for_the_user_are_not_a_loop():
    ask = tool(lambda: "x", name="ask", requires_approval=True)
    assert not any(loops(conversation(LoopDetector(), *[("ask", {})] * 5, tools=[ask])))


def test_cached_results_and_unknown_and_malformed_calls_count_like_others():
    assert loops(conversation([LoopDetector(), Cache()], *[HERE] * 3))[-1]
    assert loops(conversation(LoopDetector(), *[("look", "{broken")] * 3))[-1]
    assert loops(conversation(LoopDetector(), *[("nothing", {})] * 3))[-1]
    assert loops(conversation(LoopDetector(), *[("look", {"place": 10**5000})] * 3))[-1]


@pytest.mark.parametrize("options", [{"repeats": 1}, {"cycle": 0}])
def test_invalid_options_are_refused(options):
    with pytest.raises(ValueError, match="at least"):
        LoopDetector(**options)
