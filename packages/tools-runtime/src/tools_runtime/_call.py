"""`Execution`: one call, from its gates and hooks to its attempts, and back with its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from threading import RLock, current_thread, main_thread
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_core import Approval, Context, Result, Tool, ToolCall
from tools_runtime._approval import Approver
from tools_runtime._concurrency import Gate, enter_all, leave_all, passed
from tools_runtime._events import Event, describe_error, failure, is_cancellation, log
from tools_runtime._hooks import Hooks, run_hooks
from tools_runtime._runtimes._local import InlineRuntime
from tools_runtime._runtimes._runtime import Runtime
from tools_runtime._timeouts import MARGIN, cancelled, limit_passed, timed_out, wait_for

if TYPE_CHECKING:
    from tools_runtime._drive import Steps


class Place(NamedTuple):
    """The place of a call: its tool, or the error result of an unknown tool, its runtime and its limit."""

    tool: Any  # Tool | Result
    runtime: Runtime
    overlaps: bool  # the call may run at the same time as its neighbours
    gates: tuple[Gate, ...]
    limit: float | None
    limit_set_by: str

    @property
    def is_here(self) -> bool:
        """Whether the tool runs in the thread of the caller, unless it has a limit."""
        return isinstance(self.runtime, InlineRuntime) and not self.margin

    @property
    def margin(self) -> float:
        """Seconds beyond the deadline for a tool that manages its own time."""
        return MARGIN if isinstance(self.tool, Tool) and self.tool.manages_timeout else 0.0


@dataclass(slots=True, eq=False)
class Batch:
    """The things that the calls of one `execute` share."""

    context: Context
    tools: Mapping[str, Tool]
    place: Callable[[ToolCall], Place]
    hooks: Hooks
    approver: Approver
    halted_by: int | None = None  # the number of the call that has ended the conversation

    def is_over_for(self, number: int) -> bool:
        """Return whether an earlier call has ended the conversation."""
        return self.halted_by is not None and self.halted_by < number


_HALTED = "the call was not run: an earlier call has ended the conversation"
_NO_RESULT = Result.error("the call has no result")


@dataclass(slots=True, eq=False)
class Execution:
    """One call on its way to its result."""

    call: ToolCall
    place: Place
    context: Context
    batch: Batch
    number: int = 0  # in the batch
    in_loop: bool = False
    in_hook: bool = False  # a coroutine of a hook runs
    attempts: int = 0
    result: Result = _NO_RESULT
    has_ended: bool = False
    approvals: list[tuple[ToolCall, Approval]] = field(default_factory=list)  # a retry needs no second approval
    _running: int = 0  # the number of the attempt that runs
    _last: tuple[float, Result] | None = None  # the end of the last attempt
    _interrupt: KeyboardInterrupt | None = None
    _lock: RLock = field(default_factory=RLock)  # no event follows the end

    # ------------------------------------------------------------------------------------------------ from start to end

    def steps(self) -> Steps[None]:
        """Run the call; `result` is its result then."""
        place, before = self.place, passed.get()
        gates: tuple[Gate, ...] | None = tuple(gate for gate in place.gates if gate not in before)
        if gates:
            gates = yield from enter_all(gates, self.context)
            passed.set((*before, *(gates or ())))
        runtime = place.runtime
        try:
            if self.batch.hooks.listeners:
                self.emit("start", runtime=runtime.name or type(runtime).__name__)
            if gates is None:
                result = cancelled() if self.context.cancelled else limit_passed(self.context)
            else:
                result = yield from self._run_hooks()
        except GeneratorExit:  # the event loop was closed
            raise
        except BaseException as error:  # noqa: BLE001  (each call has a result)
            result = self._failure(error)
        finally:
            if gates:
                passed.set(before)
                leave_all(gates)
        self.context.deliver(result)
        if result.halted and not self.batch.is_over_for(self.number):
            self.batch.halted_by = self.number
        with self._lock:
            if self.batch.hooks.listeners:
                self.emit("end", result)
            self.result, self.has_ended = result, True
        if self._interrupt is not None:
            raise self._interrupt

    def _run_hooks(self) -> Steps[Result]:
        place = self.place
        if self.batch.is_over_for(self.number):
            return Result.error(_HALTED, type="cancelled")
        hooks = self.batch.hooks.inside(place.runtime) if place.runtime.wraps else self.batch.hooks.around
        tool = place.tool if isinstance(place.tool, Tool) else None
        return (yield from run_hooks(hooks, self.call, tool, self))

    def _failure(self, error: BaseException) -> Result:
        if is_cancellation(error) and self.context.cancelled:
            return cancelled()
        if is_cancellation(error) and self.context.remaining == 0:  # of a hook
            return timed_out(self.context, "cancelled")
        return failure(error)

    def tool_of(self, other: ToolCall) -> Tool | None:
        """Return the tool of another call, which a hook runs instead."""
        tool = self.batch.place(other).tool
        return tool if isinstance(tool, Tool) else None

    def run_approved(self, call: ToolCall, tool: Tool | None) -> Steps[Result]:
        """Run a call that has passed all hooks, if it is allowed."""
        if tool is None or not (tool.requires_approval or self.batch.hooks.deciders):
            return (yield from self._start(call, tool))
        approval = next((approval for same, approval in self.approvals if same == call), None)
        if approval is None:
            permission = yield from self.batch.approver.permit(call, tool, self.context)
            if isinstance(permission, Result):
                return permission
            if permission is None:
                return (yield from self._start(call, tool))
            approval = permission
            self.approvals.append((call, approval))
        if approval.arguments is not None:
            call = ToolCall(call.id, call.name, approval.arguments)
        self.context.approved = True
        result = yield from self._start(call, tool)
        return result.with_metadata({"approval": {"scope": approval.scope, "by": approval.by, "key": approval.key}})

    # ------------------------------------------------------------------------------------------------ one attempt

    def _start(self, call: ToolCall, tool: Tool | None) -> Steps[Result]:
        """Run one attempt, after the plugins that log it."""
        for hook in self.batch.hooks.starters if tool is not None else ():
            try:
                yield from hook.call(self, call, tool, self.context)
            except Exception as error:  # noqa: BLE001  (an attempt without its log does not run)
                log.exception("start_tool_call of %s failed", hook.plugin)
                text = f"the call was not run: start_tool_call of {hook.plugin} failed with {describe_error(error)}"
                return Result.error(text, type="unavailable")
        place = self.place
        if call.name != self.call.name and not place.runtime.dispatches:
            place = self.batch.place(call)
        if isinstance(place.tool, Result) and not place.runtime.dispatches:
            return place.tool
        context = self.context.for_call(place.limit, self.call.id, set_by=place.limit_set_by)
        if not place.is_here or context.remaining is not None:
            context.here = None
        if context.cancelled or context.remaining == 0:
            return cancelled() if context.cancelled else limit_passed(context)
        self.attempts = self._running = self.attempts + 1
        if self._last is not None:
            end_time, last = self._last
            self.emit("retry", delay=round(monotonic() - end_time, 6), error_type=last.error_type)
        if context.on_progress is not None or self.batch.hooks.listeners:
            context.on_progress = partial(self._report, self.attempts, context.on_progress)
        result = yield from self._attempt(call, place, context)
        self._last, self._running = (monotonic(), result), 0
        return result

    def _attempt(self, call: ToolCall, place: Place, context: Context) -> Steps[Result]:
        try:
            if not place.runtime.calls_tools:
                return (yield from self._start_elsewhere(call, place, context))
            if self.in_loop:
                result: Result = yield from place.tool.acall(call.raw_arguments, context).__await__()
            else:
                result = place.tool.call(call.raw_arguments, context)
        except GeneratorExit:  # the event loop was closed
            raise
        except BaseException as error:  # noqa: BLE001  (of a runtime's dispatch, or of a tool that exits)
            if isinstance(error, KeyboardInterrupt) and current_thread() is main_thread():
                self._interrupt = error  # hooks see a cancelled call, and the caller the interrupt
                self.context.cancel()
                return cancelled()
            return failure(error)
        return result

    def _start_elsewhere(self, call: ToolCall, place: Place, context: Context) -> Steps[Result]:
        """Run one attempt in a runtime that does not call tools here."""
        context.enforced = False
        result: Any = place.runtime.start(place.tool, call, context, self.batch.tools)
        if not isinstance(result, Result):
            result = yield from wait_for(result, context, place.runtime.stops, place.runtime.grace, place.margin)
        if not isinstance(result, Result):
            text = f"the runtime {type(place.runtime).__name__} returned {type(result).__name__}, not a Result"
            return Result.error(text, exception=TypeError(text))
        if "crash" in result.metadata:
            self.emit("crash", result)
        return result

    # ------------------------------------------------------------------------------------------------ events

    def emit(self, kind: Any, result: Result | None = None, **detail: Any) -> None:
        """Emit an event of this call, unless it has ended."""
        with self._lock:
            if self.has_ended:
                return
            event = Event(kind, self.call, self.context, attempt=self.attempts, result=result, detail=detail)
            for listener in self.batch.hooks.listeners:
                try:
                    listener.function(event)
                except BaseException as error:
                    if isinstance(error, KeyboardInterrupt) and current_thread() is main_thread():
                        raise
                    log.exception("on_event of %s failed", listener.plugin)

    def _report(self, attempt: int, report: Callable[..., object] | None, *progress: Any) -> None:
        """Pass on the progress of an attempt while it runs."""
        with self._lock:
            if attempt != self._running:
                return
            self.emit("progress", **dict(zip(("done", "total", "message"), progress, strict=True)))
            if report is not None:
                report(*progress)
