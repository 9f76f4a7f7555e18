"""Hooks: in which order they run, what they may do, and what an exception in one means."""

from __future__ import annotations

import asyncio
import threading
from functools import partial

import pluggy
import pytest

from tools_core import Halt, Result, ToolCall, ToolError, tool
from tools_runtime import Blocking, Event, Executor, InlineRuntime, Pause, hookimpl

made = []


@tool
def echo(text: str = "x") -> str:
    """Answer."""
    made.append(text)
    return text


@pytest.fixture(autouse=True)
def nothing_made():
    made.clear()


@pytest.fixture(params=["inline", "thread", "async"])
def one(run, request):
    """`one(*hooks)`: make a call with these hooks, and give its result."""

    def make(*hooks, text="x", **options):
        executor = Executor([echo], runtime=request.param, hooks=hooks, plugins=False, **options)
        return run(executor, [ToolCall("c", "echo", {"text": text})])[0][1]

    return make


def around(function, **options):
    return type("Around", (), {"around_tool_call": hookimpl(staticmethod(function), **options)})()


def before(function):
    return type("Before", (), {"before_tool_call": hookimpl(staticmethod(function))})()


def after(function):
    return type("After", (), {"after_tool_call": hookimpl(staticmethod(function))})()


class Listener:
    def __init__(self):
        self.events = []

    @hookimpl
    def on_event(self, event):
        self.events.append(event)


def test_the_first_one_given_is_the_outermost_and_the_policy_is_the_innermost(one):
    order = []

    def named(name, **options):
        def wrap(call):
            order.append(f"{name} in")
            result = yield
            order.append(f"{name} out")
            return result

        return around(wrap, **options)

    one(named("last", trylast=True), named("a"), named("b"), named("first", tryfirst=True), policy=named("policy"))
    names = ["first", "a", "b", "policy", "last"]
    assert order == [f"{name} in" for name in names] + [f"{name} out" for name in reversed(names)]


def test_before_goes_inward_and_after_outward(one):
    order = []

    class Both:
        def __init__(self, name):
            self.name = name

        @hookimpl
        def before_tool_call(self):
            order.append(f"{self.name} before")

        @hookimpl
        def after_tool_call(self):
            order.append(f"{self.name} after")

    one(Both("a"), Both("b"))
    assert order == ["a before", "b before", "b after", "a after"]


def test_a_hook_takes_the_arguments_that_it_names(one):
    seen = []

    def all_of_them(context, tool, call):
        seen.append((call.name, tool.name, context.call_id))
        return (yield)

    one(around(all_of_them), before(lambda tool, call: seen.append((tool.name, call.id))))
    one(after(lambda result, call: seen.append((result.output, call.id))))
    assert seen == [("echo", "echo", "c"), ("echo", "c"), ("x", "c")]


def answer(call):
    return Result.ok("answered")
    yield


def test_a_listener_takes_no_argument_and_a_value_of_its_own_too(one):
    heard = []

    class Counter:
        @hookimpl
        def on_event(self):
            heard.append("none")

    class Bound:
        @hookimpl
        def on_event(self, event, name="own"):
            heard.append((event.kind, name))

    assert one(Counter(), Bound()).output == "x"
    assert heard == ["none", ("start", "own"), "none", ("end", "own")]


def test_a_hook_of_another_version_is_left_out_where_its_plugin_can_do_without(one):
    class Newer:
        @hookimpl(optionalhook=True)
        def hook_of_tomorrow(self):
            """Not called today."""

        @hookimpl
        def before_tool_call(self, call):
            return Result.ok("today")

    assert one(Newer()).output == "today"


def test_a_hook_answers_without_making_the_call(one):
    assert one(around(answer)).output == "answered"
    assert one(before(lambda: Result.ok("answered"))).output == "answered"
    assert made == []


def test_a_hook_changes_the_call(one):
    def change(call):
        return (yield ToolCall(call.id, "echo", {"text": "changed"}))

    assert one(around(change)).output == "changed"
    assert one(before(lambda call: ToolCall(call.id, "echo", {"text": "also"}))).output == "also"
    assert made == ["changed", "also"]


def test_a_hook_makes_the_call_again(one):
    def again(call):
        first = yield
        second = yield ToolCall(call.id, "echo", {"text": "2"})
        third = yield
        return Result.ok([first.output, second.output, third.output])

    inner = []
    result = one(around(again), before(lambda call: inner.append(call.arguments["text"])))
    assert result.output[:2] == ["x", "2"] and len(made) == 3 == len(inner)
    assert made == inner


def test_a_hook_changes_the_result(one):
    def change(call):
        return (yield).with_metadata({"around": True})

    result = one(around(change), after(lambda result: result.with_metadata({"after": True})))
    assert result.output == "x" and set(result.metadata) >= {"around", "after"}


def test_a_hook_that_returns_nothing_lets_it_stand(one):
    def silent(call):
        yield

    assert one(around(silent), before(lambda: None), after(lambda: None)).output == "x"


def test_what_a_hook_waits_for_comes_back_to_it(one):
    seen = []

    async def later():
        await asyncio.sleep(0)
        return "awaited"

    async def failing():
        raise LookupError("awaited")

    def fail():
        raise LookupError("blocking")

    def waiting(call):
        seen.append((yield Pause(0)))
        seen.append((yield Blocking(lambda: "blocking")))
        seen.append((yield later()))
        for step in (Blocking(fail), failing()):
            try:
                yield step
            except LookupError as error:
                seen.append(str(error))
        yield Event("retry", call, detail={"attempt": 1})
        result = yield
        yield Pause(0.001)
        return result

    listener = Listener()
    assert one(around(waiting), listener).output == "x"
    assert seen == [None, "blocking", "awaited", "blocking", "awaited"]
    assert [event.kind for event in listener.events] == ["start", "retry", "end"]


def test_what_a_hook_waited_for_and_was_cancelled_is_an_exception_in_the_hook(one):
    async def cancelled():
        raise asyncio.CancelledError

    def waiting(call):
        result = yield
        yield cancelled()
        return result

    assert one(around(waiting)).output == "x"
    assert made == ["x"]


# An exception has one meaning


def fails_before(call):
    raise LookupError("broken")
    yield


def fails_after(call):
    yield
    raise LookupError("broken")


def fails_waiting(call):
    yield Pause(0)
    raise LookupError("broken")


def yields_nonsense(call):
    yield 3


def yields_nonsense_later(call):
    yield
    yield 3


def returns_nonsense(call):
    yield
    return 3


def answers_nonsense(call):
    return 3
    yield


def leaves(call):
    yield
    raise SystemExit(1)


def cancels(call):
    raise asyncio.CancelledError  # as the result of a task does that was cancelled; nobody has cancelled this call
    yield


def cancels_waiting(call):
    yield Blocking(partial(next, cancels(call)))


def cancels_later(call):
    yield
    raise asyncio.CancelledError


def cancelled():
    raise asyncio.CancelledError


def broken():
    raise LookupError("broken")


@pytest.mark.parametrize(
    "hook",
    [
        fails_before, fails_waiting, yields_nonsense, answers_nonsense, cancels, cancels_waiting, "before", "nonsense",
        "cancels",
    ],
)  # fmt: skip
def test_an_accident_before_the_call_refuses_it(one, hook, caplog):
    named = {"before": before(broken), "nonsense": before(lambda: 3), "cancels": before(cancelled)}
    given = named.get(hook) or around(hook)
    listener = Listener()
    result = one(listener, given)
    assert result.error_type == "unavailable" and "the call was not made" in result.error_message
    assert made == []
    (failed,) = [event for event in listener.events if event.kind == "hook_failed"]
    assert failed.detail["hook"] in ("around_tool_call", "before_tool_call") and failed.detail["plugin"]
    assert "failed" in caplog.text


@pytest.mark.parametrize(
    "hook",
    [fails_after, yields_nonsense_later, returns_nonsense, leaves, cancels_later, "after", "nonsense", "cancels"],
)
def test_an_accident_after_the_call_leaves_its_result(one, hook, caplog):
    named = {"after": after(broken), "nonsense": after(lambda: 3), "cancels": after(cancelled)}
    given = named.get(hook) or around(hook)
    listener = Listener()
    assert one(listener, given).output == "x"
    assert made == ["x"]
    assert [event.kind for event in listener.events] == ["start", "hook_failed", "end"]
    assert "failed" in caplog.text


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no words")


@pytest.mark.parametrize("late", [False, True])
def test_an_accident_that_cannot_be_shown_is_one_all_the_same(one, late, caplog):
    def mute(call):
        if late:
            yield
        raise Mute
        yield

    listener = Listener()
    result = one(listener, around(mute))
    assert result.output == ("x" if late else None) and made == ["x"] * late
    (failed,) = [event for event in listener.events if event.kind == "hook_failed"]
    assert failed.detail["error"] == "Mute"
    assert "failed" in caplog.text


def test_an_accident_in_a_second_attempt_leaves_the_latest_result(one):
    def again(call):
        yield
        yield ToolCall(call.id, "echo", {"text": "second"})
        raise LookupError("broken")

    assert one(around(again)).output == "second"
    assert made == ["x", "second"]


def test_the_hooks_outside_see_what_became_of_an_accident(one):
    seen = []

    def watch(call):
        result = yield
        seen.append(result.error_type)
        return result

    one(around(watch), around(fails_before))
    one(around(watch), around(fails_after))
    assert seen == ["unavailable", None]


@pytest.mark.parametrize("blocks", [False, True])
def test_an_exit_or_a_halt_in_what_a_hook_waited_for_is_one_in_the_hook(one, blocks, caplog):
    def wait(error):
        def leave():
            raise error

        async def later():
            leave()

        def hook(call):
            yield
            yield Blocking(leave) if blocks else later()

        return around(hook)

    assert one(wait(SystemExit(1))).output == "x"
    assert "failed" in caplog.text
    assert one(wait(Halt("over"))).is_halted
    assert one(wait(SystemExit(1)), trace=True).output == "x"
    assert made == ["x"] * 3


@pytest.mark.parametrize("late", [False, True])
def test_tool_error_and_halt_are_answers(one, late, caplog):
    def hook(error):
        def wrap(call):
            if late:
                yield
            raise error
            yield

        return around(wrap)

    refused = one(hook(ToolError("no", "denied")))
    halted = one(hook(Halt("over")))
    assert (refused.error_type, refused.error_message) == ("denied", "no")
    assert halted.is_halted and halted.output == "over"
    assert len(made) == 2 * late
    assert caplog.text == ""


def test_an_interrupt_that_a_listener_raises_in_another_thread_leaves_no_call_without_its_end(caplog):
    class Failing:
        @hookimpl
        def on_event(self):
            if threading.current_thread() is not threading.main_thread():
                raise KeyboardInterrupt

    @tool
    def echo(text: str) -> str:
        """Say it again."""
        return text

    executor = Executor([echo], runtime="thread", hooks=[Failing()], plugins=False)
    results = executor.execute([ToolCall(text, "echo", {"text": text}) for text in "ab"])
    assert [result.output for _, result in results] == ["a", "b"]
    assert "on_event of" in caplog.text


@pytest.mark.parametrize("kind", [ValueError, SystemExit, GeneratorExit, pytest.fail.Exception, asyncio.CancelledError])
def test_a_listener_that_fails_keeps_nothing_from_the_others(one, caplog, kind):
    class Failing:
        @hookimpl
        def on_event(self):
            raise kind

    listener = Listener()
    assert one(Failing(), listener).output == "x"
    assert [event.kind for event in listener.events] == ["start", "end"]
    assert "on_event of Failing#1 failed" in caplog.text


def test_hooks_see_unknown_tools_and_invalid_arguments_too(run):
    seen = []

    def watch(call, tool):
        result = yield
        seen.append((call.id, tool and tool.name, result.error_type))
        return result

    batch = [ToolCall("1", "unknown"), ToolCall("2", "echo", {"text": 3}), ToolCall("3", "echo", "{")]
    run(Executor([echo], hooks=[around(watch)], plugins=False), batch)
    assert seen == [("1", None, "unknown_tool"), ("2", "echo", "validation_error"), ("3", "echo", "validation_error")]


# Registering


def test_no_hook_changes_the_call_behind_the_policy(one, caplog):
    class Deny:
        @hookimpl(trylast=True)
        def around_tool_call(self, call):
            if call.arguments["text"] == "secret":
                raise ToolError("no", "denied")
            return (yield call)

    def other(call):
        return (yield ToolCall(call.id, "echo", {"text": "secret"}))

    def again(call):
        yield
        return (yield ToolCall(call.id, "echo", {"text": "secret"}))

    def same(call):
        return (yield ToolCall(call.id, "echo", {"text": "x"}))

    assert one(around(other), policy=Deny).error_type == "denied"
    assert one(around(other, trylast=True), policy=Deny).error_type == "unavailable"
    assert one(around(same, trylast=True), policy=Deny).output == "x"
    assert one(around(again, trylast=True), policy=Deny).output == "x"
    assert made == ["x", "x"]
    assert len(caplog.records) == 2 and "leave out trylast=True" in caplog.text
    assert one(around(other, trylast=True)).output == "secret"


def test_a_plugin_may_be_given_as_its_class(run):
    class Shout:
        @hookimpl
        def around_tool_call(self):
            result = yield
            return Result.ok(result.output.upper())

    class Twice:
        @hookimpl
        def around_tool_call(self):
            result = yield
            return Result.ok(result.output * 2)

    executor = Executor([echo], hooks=[Shout], policy=Twice, plugins=False)
    assert run(executor, [ToolCall("c", "echo", {})])[0][1].output == "XX"


def test_what_can_never_work_is_refused_at_once():
    class Misspelt:
        @hookimpl
        def befor_tool_call(self):
            """Never called."""

    class NoGenerator:
        @hookimpl
        def around_tool_call(self):
            """No generator."""

    class Strange:
        @hookimpl
        def before_tool_call(self, colour):
            """Names what there is not."""

    class Coroutine:
        @hookimpl
        async def on_event(self):
            """Nobody awaits it."""

    class Waiting:
        @hookimpl
        def before_tool_call(self):
            """Nobody takes what it yields."""
            yield Pause(1)

    class OfPluggy:
        @hookimpl(hookwrapper=True)
        def around_tool_call(self):
            """Expects what pluggy would give it."""
            outcome = yield
            outcome.get_result()

    class Keyword:
        @hookimpl
        def before_tool_call(self, *, call):
            """Is given arguments by place."""

    class Default:
        @hookimpl
        def before_tool_call(self, call, tool=None):
            """Would always see the default."""

    for plugin, text in [
        (OfPluggy, "wrapper of pluggy"), (Keyword, "never given call"), (Default, "never given tool"),
        (Misspelt, "befor_tool_call; there are"), (NoGenerator, "result = yield"), (Strange, "colour"),
        (object, "has no hook"), (Coroutine, "on_event of .* no plain function"), (Waiting, "no plain function"),
    ]:  # fmt: skip
        with pytest.raises(pluggy.PluginValidationError, match=text):
            Executor([echo], hooks=[plugin], plugins=False)


def test_another_call_that_a_hook_makes_runs_where_its_own_tool_does_and_has_its_limit(run):
    class Mine(InlineRuntime):
        name = "mine"

        def run_tool(self, tool, call, context):
            return Result.ok(f"{tool.name} in {context.runtime} within {round(context.remaining)} s")

    @tool(runtime=Mine)
    def apart() -> str:
        """Answer."""

    @tool(timeout=3)
    def short() -> str:
        """Answer."""
        return "short"

    def instead(call):
        return (yield ToolCall(call.id, "apart" if call.name == "short" else "short", {}))

    for runtime in ("inline", "thread", "async"):
        executor = Executor([apart, short], runtime=runtime, hooks=[around(instead)], plugins=False)
        pairs = run(executor, [ToolCall("1", "short"), ToolCall("2", "apart")])
        assert [result.output for _, result in pairs] == ["apart in mine within 10 s", "short"]


def test_a_plugin_registers_runtimes():
    class Mine(InlineRuntime):
        name = "mine"

    class Plugin:
        @hookimpl
        def register_runtimes(self):
            return {"mine": Mine}

    executor = Executor([echo], runtime="mine", hooks=[Plugin], plugins=False)
    assert isinstance(executor.runtime_of("echo"), Mine)
    for wrong in (None, 3, {"mine": 3}, {3: Mine}):
        plugin = type("Wrong", (), {"register_runtimes": hookimpl(staticmethod(lambda wrong=wrong: wrong))})
        with pytest.raises(TypeError, match="register_runtimes of Wrong#1"):
            Executor([echo], hooks=[plugin], plugins=False)


# One plugin for threads and for coroutines


class Everything:
    """Waits in every way around each call."""

    @hookimpl
    def around_tool_call(self, call):
        yield Pause(0.001)
        result = yield
        yield Pause(0.001)
        return result.with_metadata({"seen": call.id})

    @hookimpl
    def before_tool_call(self):
        return None

    @hookimpl
    def after_tool_call(self):
        return None


def test_a_thousand_awaits_need_no_thread_each(calls):
    most = 0

    @tool
    async def nap() -> None:
        """Wait."""
        nonlocal most
        await asyncio.sleep(0.01)
        most = max(most, threading.active_count())

    executor = Executor([nap], runtime="async", hooks=[Everything()], plugins=False, default_timeout=60)
    before = threading.active_count()
    pairs = asyncio.run(executor.aexecute(calls(*["nap"] * 1_000)))
    assert [result.metadata["seen"] for _, result in pairs] == [f"c{number}" for number in range(1_000)]
    assert most <= before


def test_the_same_plugin_serves_threads(calls):
    executor = Executor([echo], runtime="thread", hooks=[Everything()], plugins=False, trace=True)
    pairs = executor.execute(calls(*["echo"] * 200))
    assert [result.metadata["seen"] for _, result in pairs] == [f"c{number}" for number in range(200)]
    times = executor.trace.times
    assert {hook: count for (_, hook), (count, _) in times.items()} == {
        "around_tool_call": 200, "before_tool_call": 200, "after_tool_call": 200,
    }  # fmt: skip
    assert all(seconds >= 0 for _, seconds in times.values())


def test_the_trace_counts_what_a_hook_takes_and_not_what_it_waits_for(calls):
    def waiting(call):
        yield Pause(0.3)
        return (yield)

    executor = Executor([echo], hooks=[around(waiting)], plugins=False, trace=True)
    executor.execute(calls("echo"))
    (((plugin, hook), (count, seconds)),) = executor.trace.times.items()
    assert (plugin, hook, count) == ("Around#1", "around_tool_call", 1)
    assert 0 < seconds < 0.3
