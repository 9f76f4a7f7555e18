"""`Job`: one call on its way through its layers to its place, and back with its result.

The generator of the layers yields the call when it is to be made, and what hooks wait for. Whatever takes time is a
`Waiting`: its end, its limit and the caller's cancellation compete to claim it, and the first one resumes the job.
"""

from __future__ import annotations

from collections.abc import Coroutine
from contextvars import copy_context
from functools import partial
from threading import RLock
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

from tools_core import Halt, Result, Tool, ToolCall
from tools_core.threads import in_thread, unwrap
from tools_runtime._event import Event
from tools_runtime._place._gate import passed
from tools_runtime._place._placement import Placement, call_plainly, is_plain, overran
from tools_runtime._schedule import _outcomes as outcomes
from tools_runtime._schedule._waiting import Attempt, Waiting, begin_waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from concurrent.futures import Future

    from tools_core import Context
    from tools_runtime._event import Kind
    from tools_runtime._place._gate import Gate
    from tools_runtime._schedule._home import Home
    from tools_runtime._wrap._layers import Layers

_UNHEARD = RLock()  # for the ends of calls that no listener hears of
MARGIN = 5.0  # seconds beyond the caller's deadline for a tool that ends its calls by itself
_PARKED: Any = object()


class Job:
    """One call: see the module."""

    __slots__ = (
        "_attempts", "_blocks", "_ending", "_home", "_is_plain", "_layers", "_on_end", "_place", "_steps", "_tools",
        "_unlisten", "_variables", "_waiting", "call", "context", "gates", "has_started", "is_lazy", "placement",
        "result",
    )  # fmt: skip

    def __init__(
        self, call: ToolCall, placement: Placement, tools: Mapping[str, Tool], context: Context,
        layers: Layers, home: Home, place: Callable[[ToolCall], Placement], on_end: Callable[[Job], None],
    ) -> None:  # fmt: skip
        self.call = call
        self.placement = placement
        self.context = context
        self.result: Result | None = None
        self._tools = tools
        self._layers = layers
        self._home = home
        self._place = place
        self._on_end = on_end
        self._steps: Generator[Any, Any, Result] | None = None
        self._waiting: Waiting | None = None
        self._unlisten: Callable[[], None] | None = None
        self._attempts = 0
        self.has_started = False
        self._ending = RLock() if layers.listeners or context.on_progress is not None else _UNHEARD
        tool, runtime = placement.tool, placement.runtime
        self.gates: Sequence[Gate] = ()  # the limits that it has passed, and leaves at its end
        self.is_lazy = runtime.is_sequential
        self._blocks = runtime.is_sequential and not home.is_loop  # runs in the calling thread
        self._variables = None if self._blocks else copy_context()
        self._is_plain = self._blocks and context.deadline is None and is_plain(tool, runtime)

    # ------------------------------------------------------------------------------------------------ from start to end

    def start(self) -> None:
        """Begin the call, at home; not if it was cancelled while it waited for its turn."""
        if self.result is not None:
            return
        if self._variables is None:
            token = passed.set((*passed.get(), *self.gates)) if self.gates else None
            try:
                self._advance(None)
            finally:
                if token is not None:
                    passed.reset(token)
            return
        if self.gates:
            self._variables.run(passed.set, (*passed.get(), *self.gates))
        self._variables.run(self._advance, None)

    def listen(self) -> None:
        """Let the caller's cancellation stop the job, at once if it has happened."""
        if self._unlisten is None:
            self._unlisten = lambda: None  # while it is being registered, which may cancel at once
            self._unlisten = self.context.on_cancel(self._cancel)

    def _advance(self, value: Any, error: BaseException | None = None) -> None:
        """Go through the layers until there is something to wait for, or a result."""
        if self._steps is None:
            tool = self.placement.tool
            self._start_event()
            self._steps = self._layers.steps(self.call, tool if isinstance(tool, Tool) else None, self)
        try:
            while True:
                step = self._steps.send(value) if error is None else self._steps.throw(error)
                error = None
                try:
                    value = self._attempt(step) if isinstance(step, ToolCall) else self._wait_for(step)
                except (Exception, Halt) as raised:  # noqa: BLE001  (handed to the hook that yielded the step)
                    error = raised
                    continue
                if value is _PARKED:
                    return
        except StopIteration as end:
            self.finish(cast("Result", end.value))
        except BaseException as error:
            if not isinstance(error, KeyboardInterrupt) or not self._home.is_here:
                self.finish(outcomes.failure(error))
                return
            self._interrupted()
            raise

    def _resume(self, outcome: Callable[[], Any]) -> None:
        try:
            value = outcome()
        except (Exception, Halt) as error:  # noqa: BLE001  (of what a hook waited for)
            self._advance(None, error)
        else:
            self._advance(value)

    def _interrupted(self) -> None:
        """Show the layers a cancelled call, since the user has interrupted it."""
        self.context.cancel()
        try:
            while self._steps is not None:
                self._steps.send(outcomes.cancelled())
        except (StopIteration, RuntimeError, ValueError):
            pass
        self.finish(outcomes.cancelled())

    def finish(self, result: Result) -> None:
        """Set the result, once, and emit the end event."""
        with self._ending:
            if self.result is not None:
                return
            self._start_event()
            if self._layers.listeners:
                self._layers.emit(Event("end", self.call, self.context, attempt=self._attempts, result=result))
            self.result = result
        if self._unlisten is not None:
            self._unlisten()
        self._on_end(self)

    # ------------------------------------------------------------------------------------------------ events

    def _start_event(self) -> None:
        if not self.has_started:
            self.has_started = True
            if self._layers.listeners:
                name = self.placement.runtime.name or type(self.placement.runtime).__name__
                self._layers.emit(Event("start", self.call, self.context, detail={"runtime": name}))

    def emit(self, kind: Kind, result: Result | None = None, **detail: Any) -> None:
        """Emit an event of this call, unless it has ended."""
        self._emit(Event(kind, self.call, self.context, attempt=self._attempts, result=result, detail=detail))

    def _emit(self, event: Event) -> None:
        with self._ending:
            if self.result is None and self._layers.listeners:
                self._layers.emit(event)

    def _report(self, attempt: Attempt, report: Callable[..., object] | None, *progress: Any) -> None:
        """Pass on the progress of an attempt, as long as it runs."""
        with self._ending:
            if self.result is not None or not attempt.is_open:
                return
            if self._layers.listeners:
                detail: dict[str, Any] = dict(zip(("done", "total", "message"), progress, strict=True))
                self._layers.emit(Event("progress", self.call, self.context, attempt=attempt.number, detail=detail))
            if report is not None:
                report(*progress)

    # ------------------------------------------------------------------------------------------------ one attempt

    def find(self, name: str) -> Tool | None:
        """Find the tool of a call that a hook makes instead of this one."""
        tool = self._place(ToolCall(None, name)).tool
        return tool if isinstance(tool, Tool) else None

    def _attempt(self, call: ToolCall) -> Any:
        """Make the call; its result, or `_PARKED`."""
        if self.context.cancelled:
            return outcomes.cancelled()
        placement = self.placement
        if self._is_plain and call.name == self.call.name:
            self._attempts += 1
            return call_plainly(call, cast("Tool", placement.tool), placement.limit, placement.limit_set_by)
        if call.name != self.call.name and not placement.runtime.dispatches:
            placement = self._place(call)
        tool, runtime = placement.tool, placement.runtime
        if isinstance(tool, Result) and not runtime.dispatches:
            return tool
        context = self.context.for_call(placement.limit, self.call.id, set_by=placement.limit_set_by)
        if context.remaining == 0:
            return outcomes.limit_passed(context)
        context.enforced = False  # the scheduler watches the limit
        self._attempts += 1
        manages_timeout = isinstance(tool, Tool) and tool.manages_timeout
        attempt = Attempt(context, runtime, self._attempts, MARGIN if manages_timeout else 0.0)
        if context.on_progress is not None or self._layers.listeners:
            context.on_progress = partial(self._report, attempt, context.on_progress)
        try:
            placed = runtime.place(cast("Tool", tool), call, context, self._tools)
        except Exception as error:  # noqa: BLE001  (of a runtime of the user's own)
            return outcomes.failure(error)
        return self._follow(attempt, placed)

    def _follow(self, attempt: Attempt, placed: Any) -> Any:
        """Wait for an attempt: in this thread, where the call is made in it, or parked until its future is done."""
        if isinstance(placed, Coroutine):
            variables = copy_context() if self._variables is None else self._variables.copy()
            future, attempt.stop = self._home.spawn(placed, variables)
            return self._park_attempt(attempt, future, future.result)
        if not callable(placed):
            if isinstance(placed, Result) or not hasattr(placed, "add_done_callback"):
                attempt.claim()
                return self._checked(attempt, placed)
            return self._park_attempt(attempt, placed, placed.result)
        if self._blocks and attempt.runtime.is_sequential:
            return self._call_here(attempt, placed)
        running = in_thread(placed)
        return self._park_attempt(attempt, running, lambda: unwrap(running.result()))

    def _call_here(self, attempt: Attempt, make: Callable[[], Any]) -> Result:
        """Call in the calling thread, which nothing can stop at a limit."""
        try:
            result = self._checked(attempt, make())
        except KeyboardInterrupt:
            attempt.claim()
            raise
        except BaseException as error:  # noqa: BLE001  (of a runtime's own dispatch, or of a tool that exits)
            result = outcomes.failure(error)
        attempt.claim()
        deadline = attempt.context.deadline
        if deadline is not None and monotonic() > deadline + attempt.margin:
            return overran(result, attempt.context.timeout, attempt.context.timeout_set_by)
        return result

    def _park_attempt(self, attempt: Attempt, future: Future[Any], outcome: Callable[[], Any]) -> Any:
        """Wait until an attempt has ended, at most until its limit."""
        attempt.future = future
        attempt.outcome = partial(self._collect, attempt, outcome)
        if attempt.context.deadline is not None:
            when = attempt.context.deadline + attempt.margin
            self._home.at(when, partial(self._stop, attempt, partial(outcomes.timed_out, attempt.context)))
        return self._park(attempt, future)

    def _stop(self, attempt: Attempt, describe: Callable[[str], Result]) -> None:
        """Stop an attempt where that is possible, else abandon it; the job goes on with a result that says so."""
        if not attempt.claim():
            return
        attempt.context.cancel()
        attempt.stop()
        future, runtime = attempt.future, attempt.runtime
        ending = Waiting(lambda: None)

        def ended(_: object = None) -> None:
            if ending.claim():
                if not future.done():
                    runtime.count_abandoned(1)
                    future.add_done_callback(lambda _: runtime.count_abandoned(-1))
                self._go_on(partial(describe, runtime.stops if future.done() else ""))

        if not runtime.stops:
            ended()
            return
        self._home.at(monotonic() + runtime.grace, ended)
        future.add_done_callback(ended)

    def _collect(self, attempt: Attempt, outcome: Callable[[], Any]) -> Result:
        try:
            return self._checked(attempt, outcome())
        except BaseException as error:  # noqa: BLE001  (of a future that belongs to this call alone)
            return outcomes.failure(error)

    def _checked(self, attempt: Attempt, made: Any) -> Result:
        if not isinstance(made, Result):
            return outcomes.wrong_type(attempt.runtime, made)
        if self._layers.listeners and "crash" in made.metadata:
            self.emit("crash", made)
        return made

    # ------------------------------------------------------------------------------------------------ waiting

    def _wait_for(self, step: object) -> Any:
        """Do what a hook yielded; return its value, or `_PARKED`."""
        if isinstance(step, Event):
            self._emit(step)
            return None
        if self.context.cancelled:
            return None
        waiting, future, seconds = begin_waiting(step, self._home)
        if seconds is not None:
            self._home.at(monotonic() + seconds, partial(self._wake, waiting))
        return self._park(waiting, future)

    def _park(self, waiting: Waiting, future: Future[Any] | None) -> Any:
        """Let the job rest until the future is done, or something else ends the wait."""
        self._waiting = waiting
        self.listen()
        if self.context.cancelled:  # perhaps before there was something to stop
            self._cancel()
        if future is not None:
            future.add_done_callback(lambda _: self._wake(waiting))
        return _PARKED

    def _wake(self, waiting: Waiting) -> None:
        if waiting.claim():
            self._go_on(waiting.outcome)

    def _go_on(self, outcome: Callable[[], Any]) -> None:
        """Resume the job at home, with what it waited for."""
        resume = partial(self._resume, outcome)
        self._home.soon(resume if self._variables is None else partial(self._variables.run, resume))

    def _cancel(self) -> None:
        """Stop what the job waits for, since the caller is gone."""
        waiting = self._waiting
        if isinstance(waiting, Attempt):
            self._stop(waiting, outcomes.cancelled)
        elif waiting is not None:
            self._wake(waiting)
        elif not self.has_started:
            self.finish(outcomes.cancelled())
