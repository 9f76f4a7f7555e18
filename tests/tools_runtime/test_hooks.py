"""Hooks: their order, their answers, and their exceptions."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading

import pluggy
import pytest

from tools_core import Halt, Result, ToolCall, ToolError, tool
from tools_runtime import Decision, Executor, Runtime, hookimpl

executed = []


@tool
def echo(text: str = "x") -> str:
    """Answer."""
    executed.append(text)
    return text


@tool
def shout(text: str = "x") -> str:
    """Answer loudly."""
    return text.upper()


@pytest.fixture(autouse=True)
def nothing_made():
    executed.clear()


@pytest.fixture(params=["inline", "thread", "async"])
def run_with(run, request):
    """`one(*hooks)`: run a call with these hooks, and return its result."""

    def make(*hooks, **options):
        executor = Executor([echo, shout], runtime=request.param, hooks=hooks, plugins=False, **options)
        return run(executor, [ToolCall("c", "echo", {"text": "x"})])[0][1]

    return make


def around(function, **options):
    return type("Around", (), {"around_tool_call": hookimpl(staticmethod(function), **options)})()


def before(function, **options):
    return type("Before", (), {"before_tool_call": hookimpl(staticmethod(function), **options)})()


def after(function, **options):
    return type("After", (), {"after_tool_call": hookimpl(staticmethod(function), **options)})()


def test_the_first_plugin_is_the_outermost_and_tryfirst_and_trylast_move_a_hook(run_with):
    order = []

    def note(name, kind, **options):
        def wrap(call):
            order.append(name)
            result = yield
            order.append(f"/{name}")
            return result

        def look(call, tool, context):
            order.append(name)

        def see(call, result):
            order.append(f"/{name}")

        function = {"around": wrap, "before": look, "after": see}[kind]
        return {"around": around, "before": before, "after": after}[kind](function, **options)

    run_with(
        note("last", "around", trylast=True),
        note("a", "around"),
        note("b", "before"),
        note("c", "after"),
        note("d", "around"),
        note("first", "around", tryfirst=True),
    )
    assert order == ["first", "a", "b", "d", "last", "/last", "/d", "/c", "/a", "/first"]


def test_a_hook_may_answer_replace_and_repeat_a_call(run_with):
    def answer(call):
        return Result.text("answered")
        yield

    def replace(call):
        result = yield
        return Result.text(f"<{result}>")

    def repeat():
        yield
        yield
        return (yield)

    assert str(run_with(around(answer))) == "answered"
    assert str(run_with(before(lambda call: Result.text("before")))) == "before"
    assert executed == []
    assert str(run_with(around(replace), after(lambda result: Result.text(f"({result})")))) == "<(x)>"
    executed.clear()
    assert str(run_with(around(repeat))) == "x"
    assert executed == ["x"] * 3


def test_inner_hooks_see_the_call_that_a_hook_substitutes(run_with):
    names = []

    def other(call):
        result = yield ToolCall(call.id, "shout", {"text": "y"})
        return result

    def look(call, tool):
        names.append((call.name, tool.name))
        yield

    def nothing(call):
        return (yield ToolCall(call.id, "nothing"))

    assert str(run_with(around(look), around(other), around(look))) == "Y"
    assert str(run_with(before(lambda call: ToolCall(call.id, "shout", {"text": "z"})), around(look))) == "Z"
    assert names == [("echo", "echo"), ("shout", "shout"), ("shout", "shout")]
    assert run_with(around(nothing)).error_type == "unknown_tool"


@pytest.mark.parametrize("kind", ["around", "before"])
def test_an_exception_before_the_call_refuses_it(kind, run_with, recorder, caplog):
    def broken(call):
        raise OSError("disk full")

    def broken_generator(call):
        raise OSError("disk full")
        yield

    with caplog.at_level(logging.ERROR, "tools_runtime"):
        result = run_with(recorder, around(broken_generator) if kind == "around" else before(broken))
    assert (result.error_type, executed) == ("unavailable", [])
    assert "disk full" in str(result)
    assert recorder.kinds == ["start", "hook_failed", "end"]
    assert "failed" in caplog.text


def test_an_exception_after_the_call_keeps_its_result(run_with, recorder, caplog):
    def broken(call):
        yield
        raise OSError("disk full")

    def wrong(call):
        yield
        return "text"

    with caplog.at_level(logging.CRITICAL, "tools_runtime"):
        assert str(run_with(recorder, around(broken), around(wrong), after(lambda result: 3))) == "x"
    assert (recorder.kinds, executed) == (["start", *["hook_failed"] * 3, "end"], ["x"])


def test_a_coroutine_that_a_plain_function_returns_is_closed(run_with):
    coroutines = []

    async def late():
        return None

    def answer(call):
        coroutines.append(late())
        return coroutines[-1]

    result = run_with(before(answer))
    assert (result.error_type, "TypeError: it returned coroutine" in result.error) == ("unavailable", True)
    assert inspect.getcoroutinestate(coroutines[0]) == inspect.CORO_CLOSED


def test_a_cancelled_hook_never_loses_the_result(run_with, recorder):
    def cancelled(call):
        raise asyncio.CancelledError

    assert run_with(recorder, before(cancelled)).error_type == "cancelled"
    assert (recorder.kinds, executed) == (["start", "end"], [])


def test_tool_error_and_halt_are_answers(run_with):
    def refuse(call):
        raise ToolError("not today", "closed")

    def halt(result):
        raise Halt("enough")

    assert run_with(before(refuse)).error_type == "closed"
    assert run_with(after(halt)).halted


def test_a_failing_listener_does_not_affect_others(run_with, recorder, caplog):
    class Broken:
        @hookimpl
        def on_event(self, event):
            raise OSError

    with caplog.at_level(logging.CRITICAL, "tools_runtime"):
        assert str(run_with(Broken(), recorder, Broken())) == "x"
    assert recorder.kinds == ["start", "end"]


def start(function):
    return type("Start", (), {"start_tool_call": hookimpl(staticmethod(function))})()


def test_start_tool_call_runs_before_allowed_calls_alone(run_with):
    order = []
    log = start(lambda call: order.append((call.name, list(executed))))
    assert run_with(log).output == "x"
    assert order == [("echo", [])]

    refuse = type("Refuse", (), {"decide_tool_call": hookimpl(staticmethod(lambda call: Decision("deny")))})()
    assert run_with(log, refuse).error_type == "denied"
    assert len(order) == 1


@pytest.mark.parametrize("is_async", [False, True])
def test_a_start_tool_call_that_fails_refuses_the_call(run_with, is_async, caplog):
    def fail():
        raise OSError("disk full")

    async def afail():
        await asyncio.sleep(0)
        fail()

    result = run_with(start(afail if is_async else fail))
    assert result.error_type == "unavailable"
    assert "disk full" in result.error
    assert executed == []


# coroutine functions


def test_a_coroutine_function_wraps_replaces_and_repeats_a_call(run_with):
    async def wrap(call, call_next):
        await asyncio.sleep(0)
        return Result.text(f"<{await call_next()}>")

    async def other(call, call_next):
        return await call_next(ToolCall(call.id, "shout", {"text": "y"}))

    async def twice(call_next):
        await call_next()
        await call_next()

    assert str(run_with(around(wrap), around(wrap))) == "<<x>>"
    assert str(run_with(around(wrap), around(other), around(lambda: (yield)))) == "<Y>"
    executed.clear()
    assert str(run_with(around(twice))) == "x"
    assert executed == ["x", "x"]


@pytest.mark.parametrize("is_before", [True, False])
def test_a_coroutine_function_that_fails_loses_no_result(run_with, is_before, recorder, caplog):
    async def broken(call, call_next):
        if not is_before:
            await call_next()
        raise OSError("disk full")

    result = run_with(recorder, around(broken))
    assert (result.error_type, executed) == (("unavailable", []) if is_before else (None, ["x"]))
    assert recorder.kinds == ["start", "hook_failed", "end"]


def test_coroutine_functions_may_answer_and_observe_calls(run_with):
    async def answer(call):
        return Result.text("answered")

    async def observe(result):
        await asyncio.sleep(0)
        return Result.text(f"({result})")

    assert str(run_with(before(answer))) == "answered"
    assert str(run_with(after(observe))) == "(x)"


@pytest.mark.parametrize("runtime", ["thread", "async"])
def test_hooks_that_block_do_not_delay_the_other_calls_of_a_batch(runtime, run):
    barrier = threading.Barrier(3)

    def block():
        barrier.wait(20)  # all hooks are here at the same time
        return (yield)

    executor = Executor([echo], runtime=runtime, hooks=[around(block)], plugins=False)
    batch = [ToolCall(str(number), "echo", {}) for number in range(3)]
    assert [result.output for _, result in run(executor, batch)] == ["x"] * 3


@pytest.mark.parametrize(
    ("plugin", "text"),
    [
        (object(), "has no hook"),
        (type("Typo", (), {"around_tool_cal": hookimpl(lambda self: None)})(), "unknown hook .around_tool_cal"),
        (around(lambda call: None), "is not a generator or coroutine function"),
        (type("Late", (), {"before_tool_call": hookimpl(lambda self, call=None: None)})(), "never receives call"),
        (type("Wrap", (), {"before_tool_call": hookimpl(wrapper=True)(lambda self: (yield))})(), "is a pluggy wrapper"),
    ],
)
def test_a_hook_that_would_not_work_is_refused_when_it_is_given(plugin, text, make):
    with pytest.raises(pluggy.PluginValidationError, match=text):
        make([echo], hooks=[plugin])


def test_a_plugin_registers_runtimes_by_name(make):
    class Far(Runtime):
        def dispatch_tool_call(self, call, tools, context):
            return Result.text("far away")

    class Plugin:
        @hookimpl
        def register_runtimes(self):
            return {"far": Far}

    assert str(make([echo], runtime="far", hooks=[Plugin()]).call_tool("echo")) == "far away"


def test_a_runtime_that_wraps_without_a_generator_is_refused():
    with pytest.raises(TypeError, match="must be a generator"):

        class Wrong(Runtime):
            def around_tool_call(self, call, context):
                return None
