"""What users of the design rely on whichever runtime they choose: tools, errors, runtimes and hooks, claim by claim."""

from __future__ import annotations

import inspect
import threading

import pytest

from tools_core import Context, Halt, Parameter, Result, Tool, ToolCall, ToolError, tool
from tools_runtime import Executor, InlineRuntime, Runtime, ThreadRuntime, hookimpl

ANYWHERE = ["inline", "thread", "async"]


class UserOrders(Tool):
    """List the current user's orders."""

    parameters = ()

    def execute(self, context: Context) -> Result:
        user = context.state.get("user_id")
        if user is None:
            return Result.error("No user ID provided", type="no_user")
        return Result.text(f"orders of {user}")


@pytest.mark.parametrize("runtime", ANYWHERE)
def test_a_tool_without_parameters_takes_the_context_alone_and_there_always_is_one(run, calls, runtime):
    executor = Executor([UserOrders()], runtime=runtime, plugins=False)
    batch = calls("user_orders")
    assert run(executor, batch, Context(state={"user_id": 123}))[0][1].content == "orders of 123"
    for context in (None, Context()):
        result = run(executor, batch, context)[0][1]
        assert (result.error_type, result.content) == ("no_user", "No user ID provided")


@pytest.mark.parametrize("runtime", ANYWHERE)
def test_the_model_reads_why_a_call_failed_whatever_the_reason(run, runtime):
    ran = []

    @tool
    def fail(how: str, city: str = "Oslo") -> Result:
        """Fail."""
        ran.append(how)
        if how == "returned":
            return Result.error("API rate limit exceeded", type="rate_limit")
        raise {"expected": ToolError("no such city", "not_found"), "down": OSError("down"), "bug": TypeError("bug")}[
            how
        ]

    expected = [
        ('{"how": "returned"}', "rate_limit", "API rate limit exceeded"),
        ('{"how": "expected"}', "not_found", "no such city"),
        ('{"how": "down"}', "execution_error", "OSError: down"),
        ('{"how": "bug"}', "execution_error", "TypeError: bug"),
        ("{}", "validation_error", "how is required: a string"),
        ('{"how": "bug", "city": 5}', "validation_error", "city must be a string, got 5"),
        ('{"how": "bug", "town": "x"}', "validation_error", 'unknown argument "town"'),
        ('{"how": ', "validation_error", "JSON"),
        ("[]", "validation_error", "object"),
        ("", "validation_error", "how is required: a string"),
    ]
    batch = [ToolCall(str(number), "fail", given) for number, (given, _, _) in enumerate(expected)]
    pairs = run(Executor([fail], runtime=runtime, plugins=False), batch)
    for (_, result), (given, kind, text) in zip(pairs, expected, strict=True):
        assert (result.is_error, result.error_type) == (True, kind), given
        assert result.content == result.error_message and text in result.content, given
    assert sorted(ran) == ["bug", "down", "expected", "returned"]  # what does not fit never reached the body


@pytest.mark.parametrize("name", ["Answer", "answer ", "ANSWER", "answe", "answer_tool"])
def test_a_tool_is_called_by_its_exact_name_alone(run, name):
    @tool
    def answer() -> str:
        """Answer."""
        return "42"

    executor = Executor([answer], plugins=False)
    pairs = run(executor, [ToolCall("1", name), ToolCall("2", "answer")])
    assert [result.error_type for _, result in pairs] == ["unknown_tool", None]


@pytest.mark.parametrize("runtime", ANYWHERE)
def test_an_absent_optional_has_its_declared_default_and_choices_hold_for_lists_as_a_whole(run, runtime):
    class Report(Tool):
        """Report."""

        parameters = [
            Parameter("units", enum=["celsius", "fahrenheit"], default="celsius"),
            Parameter("axes", "array", enum=[["x"], ["x", "y"]], required=False),
        ]

        def execute(self, units: str = "none", axes: list | None = None) -> list:
            return [units, axes]

    executor = Executor([Report()], runtime=runtime, plugins=False)
    given = [{}, {"units": None}, {"units": "fahrenheit", "axes": ["x", "y"]}, {"axes": ["y"]}, {"units": "kelvin"}]
    results = [
        result for _, result in run(executor, [ToolCall(str(n), "report", each) for n, each in enumerate(given)])
    ]
    assert [result.output for result in results[:3]] == [
        ["celsius", None], ["celsius", None], ["fahrenheit", ["x", "y"]],
    ]  # fmt: skip
    assert [result.error_type for result in results[3:]] == ["validation_error"] * 2


class Recorder:
    """Which thread each body and each hook ran in, in their order."""

    def __init__(self):
        self.seen = []

        @tool
        def note(key: str) -> str:
            """Note the thread."""
            self.seen.append((key, threading.get_ident()))
            return key

        self.tools = [note]

    @hookimpl
    def around_tool_call(self, call):
        self.seen.append(("hook", threading.get_ident()))
        return (yield)


@pytest.mark.parametrize("runtime", [None, "inline", InlineRuntime])
def test_by_default_calls_run_one_after_the_other_in_the_thread_that_asks(runtime):
    recorder = Recorder()
    executor = Executor(recorder.tools, runtime=runtime, hooks=[recorder], plugins=False)
    executor.execute([ToolCall(key, "note", {"key": key}) for key in "abc"])
    here = threading.get_ident()
    assert recorder.seen == [("hook", here), ("a", here), ("hook", here), ("b", here), ("hook", here), ("c", here)]


def test_threads_have_no_thread_locals_of_the_caller():
    local = threading.local()
    local.user = "ada"
    seen = []

    class Look:
        @hookimpl
        def around_tool_call(self):
            seen.append(hasattr(local, "user"))
            return (yield)

    @tool
    def look() -> bool:
        """Look."""
        return hasattr(local, "user")

    for runtime, there in (("inline", True), ("thread", False)):
        result = Executor([look], runtime=runtime, hooks=[Look()], plugins=False).call(ToolCall("1", "look"))
        assert (result.output, seen.pop()) == (there, there)


def test_a_slow_call_holds_up_no_other_and_results_keep_the_order_of_the_calls(until):
    release, ended = threading.Event(), []

    @tool
    def work(key: str) -> str:
        """Work; the first one takes longer than all others."""
        if key == "0":
            assert release.wait(30)
        ended.append(key)
        return key

    keys = [str(number) for number in range(8)]
    executor = Executor([work], runtime=ThreadRuntime(2), plugins=False, default_timeout=None)
    results = []
    asking = threading.Thread(
        target=lambda: results.extend(executor.execute([ToolCall(key, "work", {"key": key}) for key in keys]))
    )
    asking.start()
    try:
        until(lambda: len(ended) == 7)  # in the place that is left
    finally:
        release.set()
        asking.join(30)
    assert ended == [*keys[1:], "0"]
    assert [result.output for _, result in results] == keys


@pytest.mark.parametrize("runtime", ANYWHERE)
def test_a_halt_ends_no_other_call_of_the_batch(run, runtime):
    @tool
    def work(key: str) -> str:
        """Work, or stop the conversation."""
        if key == "stop":
            raise Halt("stopped")
        return key

    batch = [ToolCall(key, "work", {"key": key}) for key in ("a", "stop", "b")]
    pairs = run(Executor([work], runtime=runtime, plugins=False), batch)
    assert [(result.output, result.is_halted) for _, result in pairs] == [
        ("a", False), ("stopped", True), ("b", False),
    ]  # fmt: skip


def test_a_runtime_that_maps_its_own_errors_is_made_of_its_class_and_runs_in_order(run):
    posted = []

    class Remote(Runtime):
        def dispatch_tool_call(self, call, tools, context):
            posted.append((call.name, call.arguments))
            try:
                return Result.text(self.post(call))
            except ToolError as error:
                return Result.error(error.message, type="execution_error")
            except RuntimeError as error:
                return Result.error(f"Error executing tool: {error}", type="execution_error")

        def post(self, call):
            if call.name == "down":
                raise RuntimeError("unreachable")
            if call.name == "refuse":
                raise ToolError("refused", type="denied")
            return f"done {call.name}"

    batch = [ToolCall(name, name, {"n": 1}) for name in ("work", "down", "refuse", "more")]
    pairs = run(Executor([], runtime=Remote, plugins=False), batch)
    assert [result.content for _, result in pairs] == [
        "done work", "Error executing tool: unreachable", "refused", "done more",
    ]  # fmt: skip
    assert posted == [("work", {"n": 1}), ("down", {"n": 1}), ("refuse", {"n": 1}), ("more", {"n": 1})]


def test_what_runtimes_override_keeps_its_parameters():
    """One more would break every runtime that was written."""
    assert list(inspect.signature(Runtime.dispatch_tool_call).parameters) == ["self", "call", "tools", "context"]
    assert list(inspect.signature(Runtime.around_tool_call).parameters) == ["self", "call", "context"]
