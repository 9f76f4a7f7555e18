"""The behaviour that every runtime shares: test classes inherit it, and return an Executor."""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import conformance_tools as tools
import pytest

from tools_core import Context, Result, Tool, ToolCall
from tools_core.threads import in_thread
from tools_runtime import Executor, hookimpl

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path

    _Pairs = list[tuple[ToolCall, Result]]

_HANGING = 60.0  # seconds
_SOON = 5.0
_LIMIT = 0.2
_TOOLS = [tool for tool in vars(tools).values() if isinstance(tool, Tool)]


class RuntimeConformance(ABC):
    """Tests of a runtime, through an Executor, from synchronous code and from coroutines.

    ```python
    class TestHttpRuntime(RuntimeConformance):
        def executor(self, tools, hooks):
            return Executor(tools, runtime=HttpRuntime(), hooks=hooks, plugins=False)
    ```

    A runtime whose tools run in another process sets `is_local = False`. One that cannot end calls of synchronous tools
    at their limit, because they run in the calling thread, sets `stops_functions = False`, and one that cannot end
    coroutines sets `stops_coroutines = False`. Tests that cannot pass are skipped then.
    """

    is_local = True
    stops_functions = True
    stops_coroutines = True
    _is_async = False

    @abstractmethod
    def executor(self, tools: Sequence[Tool], hooks: Sequence[object]) -> Executor:
        """Return an executor with these tools and hooks, and with the runtime under test."""

    @pytest.fixture(autouse=True, params=["execute", "aexecute"])
    def _driver(self, request: pytest.FixtureRequest) -> None:
        self._is_async = request.param == "aexecute"

    def run(
        self, calls: Sequence[tuple[str, Any]], context: Context | None = None, hooks: Sequence[object] = ()
    ) -> list[Result]:
        """Run calls: pairs of the name of a tool of the kit and its arguments."""
        ids = [f"call_{number}" for number in range(len(calls))]
        batch = [ToolCall(id, name, arguments) for id, (name, arguments) in zip(ids, calls, strict=True)]

        def execute() -> _Pairs:
            with self.executor(_TOOLS, hooks) as executor:
                if self._is_async:
                    return asyncio.run(executor.aexecute(batch, context))
                return executor.execute(batch, context)

        pairs = in_thread(execute).result(_HANGING)
        assert [call.id for call, _ in pairs] == ids
        return [result for _, result in pairs]

    def run_one(
        self, name: str, arguments: Any, context: Context | None = None, hooks: Sequence[object] = ()
    ) -> Result:
        """Make one call."""
        return self.run([(name, arguments)], context, hooks)[0]

    # Results

    def test_a_call_returns_the_result_of_the_tool(self) -> None:
        assert self.run_one("add", {"a": 2, "b": 3}) == Result.ok(5)

    def test_arguments_may_be_json_text(self) -> None:
        assert self.run_one("add", '{"a": 2}').output == 3

    def test_invalid_arguments_are_a_validation_error(self) -> None:
        for arguments in ({"a": "two"}, {"b": 1}, {"a": 1, "c": 1}, '{"a": 1', "[]"):
            assert self.run_one("add", arguments).error_type == "validation_error"

    def test_an_unknown_tool_is_an_error(self) -> None:
        assert self.run_one("no_such_tool", {}).error_type == "unknown_tool"

    def test_an_expected_failure_keeps_its_message_and_type(self) -> None:
        result = self.run_one("fail", {"reason": "no such city"})
        assert (result.error, result.error_type) == ("no such city", "not_found")

    def test_an_exception_becomes_an_error_with_its_name(self) -> None:
        result = self.run_one("crash", {"text": "no such city"})
        assert (result.error, result.error_type) == ("LookupError: no such city", "execution_error")

    def test_a_halt_becomes_a_result_that_ends_the_conversation(self) -> None:
        result = self.run_one("stop", {"answer": "done"})
        assert (result.halted, result.ok, result.output) == (True, True, "done")

    def test_a_coroutine_is_awaited(self) -> None:
        assert self.run_one("repeat_later", {"text": "here"}).output == "here"

    def test_a_cancelled_error_of_a_tool_ends_its_call_alone(self) -> None:
        results = self.run([("cancel", {}), ("cancel_later", {}), ("add", {"a": 1})])
        assert [result.error_type for result in results] == ["cancelled", "cancelled", None]

    def test_results_have_the_order_of_the_calls(self) -> None:
        results = self.run([("add", {"a": number}) for number in range(20)])
        assert [result.output for result in results] == list(range(1, 21))

    def test_a_failed_call_does_not_affect_the_others(self) -> None:
        results = self.run(
            [("add", {"a": 1}), ("crash", {"text": "x"}), ("add", "{"), ("fail", {"reason": "no"}), ("add", {"a": 2})]
        )
        assert [result.error_type for result in results] == [
            None, "execution_error", "validation_error", "not_found", None,
        ]  # fmt: skip

    def test_concurrent_batches_do_not_mix(self) -> None:
        with ThreadPoolExecutor(8) as pool:
            results = pool.map(lambda number: self.run_one("add", {"a": number, "b": number}).output, range(50))
        assert list(results) == [2 * number for number in range(50)]

    # Contexts

    def test_the_tool_receives_the_context(self, tmp_path: Path) -> None:
        context = Context(workspace=tmp_path, state={"user": "ada"}, run_id="run_1")
        result = self.run_one("describe_context", {}, context)
        assert result.output == {
            "state": "ada", "workspace": str(tmp_path), "call_id": "call_0", "run_id": "run_1",
        }  # fmt: skip

    def test_progress_reaches_the_caller(self) -> None:
        reports: list[tuple[float, float | None, str]] = []
        self.run_one("describe_context", {}, Context(on_progress=lambda *report: reports.append(report)))
        assert reports == [(1, 2, "half")]

    # Limits and cancellation

    def test_a_passed_deadline_is_a_timeout_error(self) -> None:
        for name in self._waiting_tools():
            assert self.run_one(name, {}, Context(timeout=_LIMIT)).error_type == "timeout_error"

    def test_the_limit_of_a_tool_applies_without_a_deadline(self) -> None:
        self._needs(self.stops_functions)
        assert self.run_one("limited_wait", {}).error_type == "timeout_error"

    def test_cancelling_the_context_ends_its_calls_as_cancelled(self) -> None:
        for name in self._waiting_tools():
            context = Context()
            assert self.run_one(name, {}, context, [_Listener(cancels=context)]).error_type == "cancelled"

    def test_a_cancelled_tool_sees_it_and_no_progress_follows_the_end(self) -> None:
        self._needs(self.is_local and self.stops_functions)
        stopped = threading.Event()
        context = Context(state={"ended": stopped})
        listener = _Listener(cancels=context)
        self.run_one("wait", {}, context, [listener])
        assert stopped.wait(_SOON)
        kinds = [event.kind for event in listener.events]
        assert [kind for kind in kinds if kind != "progress"] == ["start", "end"]
        assert kinds[-1] == "end"

    def test_a_cancelled_context_starts_no_call(self) -> None:
        context = Context()
        context.cancel()
        assert self.run_one("add", {"a": 1}, context).error_type == "cancelled"

    # Events and hooks

    def test_each_call_has_one_start_and_one_end_with_the_same_run(self) -> None:
        listener = _Listener()
        calls = [("add", {"a": 1}), ("describe_context", {}), ("crash", {"text": "x"}), ("add", "{")]
        self.run(calls, Context(run_id="run_1"), [listener])
        kinds: dict[str, list[str]] = defaultdict(list)
        for event in listener.events:
            kinds[event.call.id].append(event.kind)
        assert dict(kinds) == {
            "call_0": ["start", "end"],
            "call_1": ["start", "progress", "end"],
            "call_2": ["start", "end"],
            "call_3": ["start", "end"],
        }
        assert {event.run_id for event in listener.events} == {"run_1"}

    def test_the_end_event_has_the_result(self) -> None:
        listener = _Listener()
        results = self.run([("add", {"a": 1}), ("fail", {"reason": "no"})], None, [listener])
        ends = {event.call.id: event.result for event in listener.events if event.kind == "end"}
        assert ends == {"call_0": results[0], "call_1": results[1]}

    def test_a_hook_around_a_call_receives_its_result_and_may_make_another(self) -> None:
        received: list[Result] = []

        class Doubling:
            @hookimpl
            def around_tool_call(self, call: ToolCall) -> Generator[Any, Result, Result]:
                received.append((yield))
                result = yield ToolCall(call.id, "add", {"a": 2, "b": 2})
                return result

        assert self.run_one("add", {"a": 1}, None, [Doubling()]) == Result.ok(4)
        assert received == [Result.ok(2)]

    def _waiting_tools(self) -> list[str]:
        self._needs(self.stops_functions or self.stops_coroutines)
        return ["wait"] * self.stops_functions + ["wait_later"] * self.stops_coroutines

    def _needs(self, ability: bool) -> None:
        if not ability:
            pytest.skip("this runtime does not claim to do this")


class _Listener:
    """A plugin that records events, and cancels a context at the first progress."""

    def __init__(self, cancels: Context | None = None) -> None:
        self.events: list[Any] = []
        self._context = cancels

    @hookimpl
    def on_event(self, event: Any) -> None:
        self.events.append(event)
        if event.kind == "progress" and self._context is not None:
            self._context.cancel()
