"""The executor: its methods, the order of results, and its defaults."""

from __future__ import annotations

import asyncio
import pickle
import sys
import threading
from itertools import groupby

import pytest

from tools_core import Context, Halt, Result, Tool, ToolCall, ToolError, tool
from tools_runtime import (
    AsyncRuntime,
    InlineRuntime,
    Runtime,
    ThreadRuntime,
    ToolBugError,
    hookimpl,
    set_default_runtime,
)


@tool
def add(a: int, b: int = 1) -> int:
    """Add."""
    return a + b


@tool
async def aadd(a: int) -> int:
    """Add in a coroutine."""
    await asyncio.sleep(0)
    return a + 1


@tool
def fail(kind: str) -> str:
    """Fail."""
    if kind == "expected":
        raise ToolError("no such city", "not_found")
    if kind == "halt":
        raise Halt("enough")
    if kind == "exit":
        raise SystemExit(3)
    return undefined_name  # noqa: F821


RUNTIMES = ["inline", "thread", "async"]


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_each_call_has_one_result_in_the_order_of_the_calls(runtime, run, make):
    batch = [ToolCall(str(n), "aadd" if n % 2 else "add", {"a": n}) for n in range(20)]
    pairs = run(make([add, aadd], runtime=runtime), batch)
    assert [call for call, _ in pairs] == batch
    assert [result.output for _, result in pairs] == list(range(1, 21))


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_failure_is_the_result_of_its_call_alone(runtime, run, make):
    batch = [ToolCall(kind, "fail", {"kind": kind}) for kind in ("expected", "exit", "bug")]
    batch += [ToolCall("5", "ad", {}), ToolCall("6", "add", {"b": 2}), ToolCall("7", "add", "{broken")]
    batch.append(ToolCall("8", "fail", {"kind": "halt"}))
    results = [result for _, result in run(make([add, fail], runtime=runtime), batch)]
    assert [result.error_type for result in results] == [
        "not_found", "execution_error", "execution_error", "unknown_tool", "validation_error", "validation_error", None,
    ]  # fmt: skip
    assert results[6].output == "enough"
    assert "did you mean add" in str(results[3])


def test_call_takes_a_tool_call_and_call_tool_a_name_with_arguments(make):
    executor, context = make([add]), Context()
    assert executor.call(ToolCall("1", "add", {"a": 1}), context).output == 2
    assert executor.call_tool("add", {"a": 1, "b": 5}).output == 6
    assert executor.call_tool("add", '{"a": 2}', context).output == 3
    assert asyncio.run(executor.acall(ToolCall("1", "add", {"a": 1}), context)).output == 2
    assert asyncio.run(executor.acall_tool("add", {"a": 1})).output == 2


def test_inline_makes_a_call_only_when_its_result_is_asked_for(make):
    executed = []

    @tool
    def note(n: int) -> int:
        """Note."""
        executed.append(n)
        return n

    results = make([note]).iterate([ToolCall(str(n), "note", {"n": n}) for n in range(5)])
    assert next(results)[1].output == 0
    assert executed == [0]
    results.close()
    assert executed == [0]


def test_calls_that_change_something_wait_for_their_neighbours(run, make):
    together, events = threading.Barrier(2), []

    @tool(read_only=True)
    def look(n: int) -> int:
        """Look, at the same time as another call."""
        together.wait(20)
        events.append(n)
        return n

    @tool
    def change(n: int) -> int:
        """Change something."""
        events.append(n)
        return n

    batch = [
        ToolCall(str(n), name, {"n": n}) for n, name in enumerate(["look", "look", "change", "change", "look", "look"])
    ]
    pairs = run(make([look, change]), batch)
    assert [result.output for _, result in pairs] == [0, 1, 2, 3, 4, 5]
    assert (set(events[:2]), events[2:4], set(events[4:])) == ({0, 1}, [2, 3], {4, 5})


def test_one_call_is_a_straight_line_through_the_files(make):
    class Wrap:
        @hookimpl
        def around_tool_call(self):
            return (yield)

    executor, calls, files = make([add], hooks=[Wrap()]), [ToolCall("1", "add", {"a": 1})], []

    def note(frame, event, argument):
        if event == "call" and "/tools_runtime/" in frame.f_code.co_filename:
            files.append(frame.f_code.co_filename)

    executor.execute(calls, Context())
    sys.setprofile(note)
    executor.execute(calls, Context())
    sys.setprofile(None)
    visits = [file for file, _ in groupby(file for file in files if file != __file__)]
    assert len(visits) - len(set(visits)) <= 6


@pytest.mark.parametrize("is_async", [False, True])
def test_results_come_as_they_complete_when_asked(is_async, make):
    first_may_end = threading.Event()

    @tool
    def first() -> str:
        """Wait for the other one to be delivered."""
        assert first_may_end.wait(20)
        return "first"

    @tool
    def second() -> str:
        """Answer."""
        return "second"

    executor = make([first, second], runtime="thread")
    batch = [ToolCall("1", "first", {}), ToolCall("2", "second", {})]
    order = []

    async def collect():
        async for call, _ in executor.aiterate(batch, as_completed=True):
            order.append(call.name)
            first_may_end.set()

    if is_async:
        asyncio.run(collect())
    else:
        for call, _ in executor.iterate(batch, as_completed=True):
            order.append(call.name)
            first_may_end.set()
    assert order == ["second", "first"]


@pytest.mark.parametrize("ids", [(None, None), ("", ""), ("1", "2")])
def test_strict_bugs_raises_once_all_calls_have_results_and_hands_them_over(ids, make):
    batch = [ToolCall(ids[0], "fail", {"kind": "bug"}), ToolCall(ids[1], "add", {"a": 1})]
    with pytest.raises(ToolBugError, match="undefined_name") as caught:
        make([add, fail], error_policy="strict_bugs").execute(batch)
    assert isinstance(caught.value.__cause__, NameError)
    assert [result.output for _, result in caught.value.results][1] == 2


def test_an_expected_failure_is_not_a_bug(make):
    assert make([fail], error_policy="strict_bugs").call_tool("fail", {"kind": "expected"}).error_type == "not_found"


def test_tools_may_be_a_function_of_the_context(make):
    executor = make(lambda context: [add] if context.state.get("premium") else [])
    assert executor.call_tool("add", {"a": 1}, Context(state={"premium": True})).output == 2
    assert executor.call_tool("add", {"a": 1}, Context()).error_type == "unknown_tool"


def test_the_runtime_option_accepts_several_forms(make):
    threads = ThreadRuntime(2)
    assert isinstance(make([add], runtime="async").runtime_of("add"), AsyncRuntime)
    assert make([add], runtime=threads).runtime_of("add") is threads
    chosen = make([add], runtime=lambda context: ThreadRuntime if context and context.state else InlineRuntime)
    assert isinstance(chosen.runtime_of("add", Context(state={"x": 1})), ThreadRuntime)
    assert isinstance(chosen.runtime_of("add"), InlineRuntime)
    mixed = make([add, fail], runtime={"add": threads, "*": "inline"})
    assert mixed.runtime_of("add") is threads
    assert isinstance(mixed.runtime_of("fail"), InlineRuntime)
    set_default_runtime("thread")
    assert isinstance(make([add]).runtime_of("add"), ThreadRuntime)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"runtime": "nowhere"}, ValueError, "async, auto, inline, process, thread"),
        ({"runtime": 3}, TypeError, "a name, a class or an instance"),
        ({"error_policy": "none"}, ValueError, "capture_all"),
        ({"default_timeout": 0}, ValueError, "between 0 and 1e9 seconds"),
        ({"max_concurrency": 0}, ValueError, "at least 1"),
        ({"approve": 1}, TypeError, "approve is a function"),
    ],
)
def test_an_invalid_option_is_refused(options, error, text, make):
    with pytest.raises(error, match=text):
        make([add], **options)


def test_arguments_of_the_wrong_type_are_refused(make):
    with pytest.raises(TypeError, match=r"ToolCall\.from_dict"):
        make([add]).execute([{"name": "add"}])
    with pytest.raises(TypeError, match="state"):
        make([add]).execute([], {"user": 1})
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(make([add]))


def test_two_tools_of_one_name_are_refused(make):
    class Other(Tool):
        """Another."""

        name = "add"

        def execute(self) -> str:
            return ""

    with pytest.raises(ValueError, match="add"):
        make([add, Other()])


class Upper(Runtime):
    """Makes calls elsewhere, and wraps them."""

    def dispatch_tool_call(self, call, tools, context):
        result = super().dispatch_tool_call(call, tools, context)
        return Result.text(f"dispatched {result}")

    def around_tool_call(self, call, context):
        result = yield
        return Result.text(str(result).upper())


def test_a_runtime_of_ones_own_dispatches_and_wraps(run, make):
    assert str(run(make([add], runtime=Upper), [ToolCall("1", "add", {"a": 1})])[0][1]) == "DISPATCHED 2"


def test_dispatch_may_be_a_coroutine_function(run, make):
    class Remote(Runtime):
        async def dispatch_tool_call(self, call, tools, context):
            await asyncio.sleep(0)
            return Result.text(f"remote {call.name}")

    assert str(run(make([add], runtime=Remote), [ToolCall("1", "add", {"a": 1})])[0][1]) == "remote add"


def test_dispatch_may_take_tools_and_context_by_keyword(run, make):
    class Logged(Runtime):
        def dispatch_tool_call(self, call, *, tools, context):
            return super().dispatch_tool_call(call, tools=tools, context=context)

    assert run(make([add], runtime=Logged), [ToolCall("1", "add", {"a": 1})])[0][1].output == 2


def test_a_failing_dispatch_is_an_error_result(run, make):
    class Broken(Runtime):
        def dispatch_tool_call(self, call, tools, context):
            if call.name == "add":
                raise OSError("no route")
            return 3

    results = run(make([add, fail], runtime=Broken()), [ToolCall("1", "add", {}), ToolCall("2", "fail", {})])
    assert "no route" in str(results[0][1])
    assert "returned int, not a Result" in str(results[1][1])
