"""What everything that runs calls must do, wherever it runs them."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from tools_core import Context, Result
from tools_testing._conformance._tools import (
    add,
    cancel,
    cancel_later,
    crash,
    give_up,
    later,
    limited_wait,
    refuse,
    stop,
    surroundings,
    wait,
)
from tools_testing._observe import within

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tools_core import Tool

_DEADLOCK = 30.0  # seconds; what takes so long hangs
_SOON = 5.0
_LIMIT = 0.2


class RuntimeConformance(ABC):
    """Tests of a runtime: of `dispatch`, which runs one call and always gives a Result, and of `dispatch_all`.

    ```python
    class TestInline(RuntimeConformance):
        def dispatch(self, tool, arguments, context):
            return tool.call(arguments, context)
    ```

    A runtime whose calls leave this process sets `shares_memory = False`: what needs a tool and its caller to see the
    same objects is left out then.
    """

    shares_memory = True

    @abstractmethod
    def dispatch(self, tool: Tool, arguments: Any, context: Context | None) -> Result:
        """Run one call."""

    def dispatch_all(self, calls: Sequence[tuple[Tool, Any]], context: Context | None) -> list[Result]:
        """Run several calls; a runtime with a way of its own overrides this."""
        return [self.dispatch(tool, arguments, context) for tool, arguments in calls]

    def test_a_call_gives_the_result_of_the_tool(self) -> None:
        assert self.dispatch(add, {"a": 2, "b": 3}, None) == Result.ok(5)

    def test_json_text_is_taken_as_a_model_sends_it(self) -> None:
        assert self.dispatch(add, '{"a": 2}', None).output == 3

    def test_arguments_that_do_not_fit_are_a_validation_error(self) -> None:
        for arguments in ({"a": "two"}, {"b": 1}, {"a": 1, "c": 1}, '{"a": 1', "[]"):
            assert self.dispatch(add, arguments, None).error_type == "validation_error"

    def test_an_expected_failure_keeps_its_message_and_type(self) -> None:
        result = self.dispatch(refuse, {"reason": "no such city"}, None)
        assert (result.error_message, result.error_type) == ("no such city", "not_found")

    def test_an_exception_becomes_a_result_that_names_it(self) -> None:
        result = self.dispatch(crash, {"text": "nowhere"}, None)
        assert (result.error_message, result.error_type) == ("LookupError: nowhere", "execution_error")

    def test_a_cancellation_that_a_tool_lets_out_is_its_own_error_and_no_one_elses(self) -> None:
        assert self.dispatch(cancel, {}, None).error_type == "cancelled"
        assert self.dispatch(cancel_later, {}, None).error_type == "cancelled"
        assert self.dispatch(add, {"a": 1}, None).is_ok

    def test_a_halt_becomes_a_result_that_ends_the_conversation(self) -> None:
        result = self.dispatch(stop, {"answer": "done"}, None)
        assert (result.is_halted, result.is_ok, result.output) == (True, True, "done")

    def test_the_tool_gets_the_context(self, tmp_path: Path) -> None:
        context = Context(workspace=tmp_path, state={"user": "ada"}, call_id="call_1")
        result = self.dispatch(surroundings, {}, context)
        assert result.output == {"state": "ada", "workspace": str(tmp_path), "call_id": "call_1"}

    def test_progress_reaches_the_caller(self) -> None:
        reports: list[tuple[float, float | None, str]] = []
        self.dispatch(surroundings, {}, Context(on_progress=lambda *report: reports.append(report)))
        assert reports == [(1, 2, "half")]

    def test_a_coroutine_runs_to_its_end(self) -> None:
        assert self.dispatch(later, {"text": "here"}, None).output == "here"

    def test_a_deadline_that_passes_is_a_timeout_error(self) -> None:
        result = within(_DEADLOCK, lambda: self.dispatch(wait, {}, Context(timeout=_LIMIT)))
        assert result.error_type == "timeout_error"

    def test_the_time_limit_of_a_tool_holds_without_a_context(self) -> None:
        assert within(_DEADLOCK, lambda: self.dispatch(limited_wait, {}, None)).error_type == "timeout_error"

    def test_a_tool_that_was_left_behind_is_told_to_stop(self) -> None:
        if not self.shares_memory:
            return
        told = threading.Event()
        within(_DEADLOCK, lambda: self.dispatch(wait, {}, Context(timeout=_LIMIT, state={"told": told})))
        assert told.wait(_SOON)

    def test_a_tool_sees_that_its_caller_gave_up(self) -> None:
        if not self.shares_memory:
            return
        state: dict[str, Context] = {}
        state["caller"] = Context(state=state)
        assert self.dispatch(give_up, {}, state["caller"]).output == [False, True]

    def test_results_come_in_the_order_of_the_calls(self) -> None:
        results = self.dispatch_all([(add, {"a": number}) for number in range(20)], None)
        assert [result.output for result in results] == list(range(1, 21))

    def test_a_call_that_fails_takes_no_other_with_it(self) -> None:
        calls: list[tuple[Tool, Any]] = [
            (add, {"a": 1}), (crash, {"text": "x"}), (add, "{"), (refuse, {"reason": "no"}), (add, {"a": 2}),
        ]  # fmt: skip
        results = self.dispatch_all(calls, None)
        assert [result.error_type for result in results] == [
            None, "execution_error", "validation_error", "not_found", None,
        ]  # fmt: skip

    def test_calls_of_several_threads_do_not_mix(self) -> None:
        with ThreadPoolExecutor(8) as pool:
            results = pool.map(lambda number: self.dispatch(add, {"a": number, "b": number}, None).output, range(100))
        assert list(results) == [2 * number for number in range(100)]

    def test_the_arguments_of_the_caller_stay_as_they_are(self) -> None:
        arguments = {"a": 1, "b": 2}
        self.dispatch(add, arguments, None)
        assert arguments == {"a": 1, "b": 2}
