"""One call on its way: its hooks, its attempts and, in the end, its result."""

from __future__ import annotations

from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from tools_core import Halt, Result, Tool, ToolCall
from tools_runtime._attempt import Attempt, GivenUp, LeftBehind, not_begun
from tools_runtime._chain import HOOKS, Chain, Layer, answer_of, cancellations
from tools_runtime._drive import adrive, drive
from tools_runtime._effects import Until
from tools_runtime._event import Event
from tools_runtime._log import said
from tools_runtime._runtimes._inline import InlineRuntime
from tools_runtime._runtimes._runtime import find

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Future

    from tools_core import Context
    from tools_runtime._chain import Steps
    from tools_runtime._runtimes import Runtime

    Placed = tuple[Tool | Result, Runtime, float | None]


class Job:
    """A call with all that is needed to make it."""

    __slots__ = (
        "asked", "attempt", "call", "chain", "context", "earlier", "goes_on", "inner", "is_given_up", "kept", "limit",
        "made", "on_attempt", "on_late", "placed", "result", "runtime", "steps", "tool", "tools",
    )  # fmt: skip

    def __init__(
        self,
        call: ToolCall,
        tool: Tool | Result,
        tools: Mapping[str, Tool],
        runtime: Runtime,
        chain: Chain,
        context: Context,
        limit: float | None,
        placed: Callable[[ToolCall, Tool | Result, Context], Placed],
    ) -> None:
        self.call = call
        self.tool = tool  # a Result where there is none
        self.tools = tools
        self.runtime = runtime
        self.chain = chain
        self.context = context
        self.limit = limit
        self.placed = placed  # tells where another tool runs, which a hook has called instead
        self.result: Result | None = None
        self.steps: Steps | None = None
        self.inner: Steps | None = None  # of what the runtime wraps around the call
        self.attempt: Attempt | None = None
        self.on_attempt: Callable[[Job], None] | None = None  # told when a limit begins that somebody has to watch
        # The call as its hooks have it made, and what that came to, before they have seen it. Where these are
        # interrupted then, it is kept: they begin again, but the call is not made again.
        self.asked: ToolCall | None = None
        self.made: Any = None
        self.kept: tuple[ToolCall, Result] | None = None
        self.earlier: Future[Job] | None = None  # of the same call, which still runs though it was given up
        self.is_given_up = False
        self.goes_on = False  # in a thread, though its coroutine was cancelled
        self.on_late: Callable[[Job], None] | None = None  # told when something came of it and nobody asks any more

    def run(self) -> Result:
        """Make the call, hooks and all, in this thread."""
        make = self._wrap if self.runtime.wraps else self._make
        begun = self._begin()
        try:
            return self.end(make(self.call) if begun is None else drive(begun, make))
        except BaseException as error:
            self._leave(error)
            raise

    def resume(self, value: Result) -> Result:
        """Go on, in this thread, with the result of an attempt that was left behind."""
        self.made = value
        make = self._wrap if self.runtime.wraps else self._make
        try:
            if self.inner is not None:
                value = drive(self.inner, self._make, value)
            return self.end(value if self.steps is None else drive(self.steps, make, value))
        except BaseException as error:
            self._leave(error)
            raise

    async def arun(self) -> Result:
        """`run` for coroutines."""
        make = self._awrap if self.runtime.wraps else self._amake
        begun = self._begin()
        try:
            return self.end(await make(self.call) if begun is None else await adrive(begun, make))
        except BaseException as error:
            self._leave(error)
            raise

    async def aresume(self, value: Result) -> Result:
        """`resume` for coroutines."""
        self.made = value
        make = self._awrap if self.runtime.wraps else self._amake
        try:
            if self.inner is not None:
                value = await adrive(self.inner, self._amake, value)
            return self.end(value if self.steps is None else await adrive(self.steps, make, value))
        except BaseException as error:
            self._leave(error)
            raise

    def _wrap(self, call: ToolCall) -> Result:
        """Make the call with what the runtime wraps around it."""
        self.inner = self._wrapped(call)
        return drive(self.inner, self._make)

    async def _awrap(self, call: ToolCall) -> Result:
        self.inner = self._wrapped(call)
        return await adrive(self.inner, self._amake)

    def _wrapped(self, call: ToolCall) -> Steps:
        runtime = self.runtime
        layer = Layer(
            lambda call, _, context: runtime.around_tool_call(call, context), type(runtime).__name__, HOOKS[0]
        )
        chain = Chain([layer], (), ())
        chain.listeners = self.chain.listeners
        return chain.steps(call, None, self.context)

    def _make(self, call: ToolCall) -> Result:
        """Make the call itself; what it comes to is put away at once, since what follows may be interrupted."""
        if self.kept is not None and (made := self._earlier_result(call)) is not None:
            return made
        self.made, self.asked = None, call
        if self.context.cancelled and not self.is_given_up:
            return not_begun()
        tool, runtime, limit = self._known(call)
        if runtime.is_here and isinstance(tool, Tool) and is_plain(tool) and self.context.deadline is None:
            began = monotonic()
            self.made = result = tool.call(call.given)
            return result if limit is None or monotonic() - began <= limit else overran(result, limit)
        attempt, context = self._attempt(tool, runtime, limit)
        began = monotonic()
        try:
            if tool is None:
                self.made = result = runtime.dispatch_tool_call(call, self.tools, context)
            elif isinstance(tool, Result):
                self.made = result = tool
            else:
                self.made = result = runtime.run_tool(tool, call, context)
        except BaseException as error:  # a runtime of somebody's own may raise anything
            if self.on_attempt is None and not isinstance(error, (Exception, Halt, *cancellations())):
                if runtime.limits == "kept" and not runtime.worker_thread:  # it may have begun in another process
                    self.made = Result.error("the caller was interrupted; it may have had effects", type="cancelled")
                raise  # what ends the process ends the caller in his own thread, and not a call beside him
            self.made = result = failure(error)
        return self._made(result, began, attempt, context, runtime)

    async def _amake(self, call: ToolCall) -> Result:
        if self.kept is not None and (made := self._earlier_result(call)) is not None:
            return made
        self.made, self.asked = None, call
        if self.context.cancelled and not self.is_given_up:
            return not_begun()
        tool, runtime, limit = self._known(call)
        attempt, context = self._attempt(tool, runtime, limit)
        began = monotonic()
        try:
            if tool is None:
                result = await runtime.adispatch_tool_call(call, self.tools, context)
            elif isinstance(tool, Result):
                result = tool
            elif attempt is not None and runtime.runs_in_loop and tool.is_async and not tool.takes_context:
                result = await tool.acall(call.given)  # whose limit is watched already: it needs no context for that
            else:
                result = await runtime.arun_tool(tool, call, context)
        except BaseException as error:  # noqa: BLE001  (see _make)
            result = self._caught(error, began, attempt, context, runtime)
        else:
            _uncancel(attempt)
        self.made = result = self._made(result, began, attempt, context, runtime)
        return result

    def _caught(
        self, error: BaseException, began: float, attempt: Attempt | None, context: Context, runtime: Runtime
    ) -> Result:
        """What an exception in an event loop comes to; one that is not about this call is raised again."""
        from asyncio import CancelledError, current_task  # loaded already: somebody awaits us

        try:
            task = current_task()
        except RuntimeError:  # the loop was closed, and this coroutine with it
            raise error from None
        is_over = _uncancel(attempt)
        is_beside = self.on_attempt is not None and not isinstance(error, CancelledError | KeyboardInterrupt)
        if is_beside or isinstance(error, Exception | Halt):
            return failure(error)
        # Of a task that was made for this call we know who cancels it.
        is_ours = task is not None and task.cancelling() > 0 and (self.on_attempt is None or self.is_given_up)
        if not isinstance(error, CancelledError) or is_ours:
            running = _running(error)
            if running is not None:
                self.goes_on = True
                running.add_done_callback(partial(self._ended_late, began, attempt, context, runtime))
            raise error
        if attempt is not None and is_over:
            return attempt.timed_out(abandoned=bool(error.args))
        while task is not None and task.cancelling():  # by the tool: its hooks go on
            task.uncancel()
        return cancelled_inside(error)

    def _ended_late(
        self, began: float, attempt: Attempt | None, context: Context, runtime: Runtime, running: Future[Any]
    ) -> None:
        """A thread has ended after its coroutine was cancelled: the hooks see its result, which is kept."""
        if running.cancelled():  # it never began
            self._leave(GivenUp())
            return
        from tools_core.threads import in_thread  # only for who is interrupted

        value, error = running.result()
        result = value if error is None else failure(error)
        in_thread(lambda: self.resume(self._made(result, began, attempt, context, runtime)))

    def _leave(self, error: BaseException) -> None:
        """Close what wraps the call, unless it goes on elsewhere."""
        if isinstance(error, LeftBehind) or _running(error) is not None:
            return
        for steps in (self.inner, self.steps):
            if steps is not None:
                steps.close()
        if self.made is None:
            self.asked = None
        if self.on_late is not None:
            self.on_late(self)

    def end(self, result: Result) -> Result:
        """Keep the result, and tell the listeners."""
        if self.chain.listeners:  # before anybody can have the result
            self.chain.emit(Event("end", self.call, result=result))
        self.result = result
        if self.on_late is not None:
            self.on_late(self)
        return result

    def _begin(self) -> Steps | None:
        chain = self.chain
        name = self.context.runtime = self.runtime.name or type(self.runtime).__name__
        if chain.listeners:
            chain.emit(Event("start", self.call, detail={"runtime": name}))
        if self.earlier is not None:
            self.steps = self._after(self.earlier)
        elif not chain.is_empty:
            self.steps = self._hooked()
        return self.steps

    def _hooked(self) -> Steps:
        tool = None if isinstance(self.tool, Result) else self.tool
        return self.chain.steps(self.call, tool, self.context, self._found)

    def _after(self, earlier: Future[Job]) -> Steps:
        """Wait for the same call, which was given up and still runs, and make it only if nothing comes of that."""
        context = self.context.for_call(self.limit, self.call.id)
        limit = context.remaining
        if not (yield Until(earlier, limit)):
            text = "was interrupted before, and still runs: it is not made a second time"
            known = {} if limit is None else {"timeout": context.as_set(limit)}
            return Result.error(text, type="timeout_error", metadata=known)
        job = earlier.result()
        if job.result is not None:
            if job.was_begun:
                return job.result
        elif job.asked is not None and isinstance(job.made, Result):
            self.kept = job.asked, job.made
        return (yield from self._hooked())

    @property
    def runs_on(self) -> bool:
        """Whether it is being made, and not in the thread that asks."""
        is_under_way = self.asked is not None and self.made is None and self.result is None
        return is_under_way and (self.on_attempt is not None or self.goes_on)

    @property
    def was_begun(self) -> bool:
        """Whether it was begun; one whose result says that it never was is made when it is asked for again."""
        return self.result is None or self.result.metadata.get("begun") is not False

    def _found(self, name: str) -> Tool | None:
        tool = find(ToolCall(None, name), self.tools)
        return tool if isinstance(tool, Tool) else None

    def _known(self, call: ToolCall) -> tuple[Tool | Result | None, Runtime, float | None]:
        """The tool, or None where the runtime's own dispatch finds it, where it runs, and its limit.

        What a hook made another call of runs where that tool does, though in this call's place.
        """
        tool, runtime, limit = self.tool, self.runtime, self.limit
        if call is not self.call and call.name != self.call.name and not runtime.dispatches:
            tool, runtime, limit = self.placed(call, find(call, self.tools), self.context)
            if runtime.limits == "watched" and self.on_attempt is None:  # nobody watches here
                runtime = _HERE
        return None if runtime.dispatches else tool, runtime, limit

    def _earlier_result(self, call: ToolCall) -> Result | None:
        """What a call came to that was made before an interruption; None for another call."""
        if self.kept is None or self.kept[0] != call:
            return None
        self.asked, result = self.kept
        self.made, self.kept = result, None
        return result

    def _attempt(
        self, tool: Tool | Result | None, runtime: Runtime, limit: float | None
    ) -> tuple[Attempt | None, Context]:
        if self.is_given_up:
            raise GivenUp
        if tool is None:
            tool = self.tool
        context = self.context.for_call(limit, self.call.id)
        context.runtime = runtime.name or type(runtime).__name__
        context.enforced = runtime.worker_thread or (
            not runtime.runs_in_loop and isinstance(tool, Tool) and tool.is_async  # which Tool.call cancels
        )
        if context.deadline is None or self.on_attempt is None or runtime.limits != "watched":
            return None, context
        left = context.deadline - monotonic()
        if left <= 0:  # which the tool will say
            return None, context
        # Where Tool.call cancels a coroutine, that comes first.
        grace = runtime.grace if context.enforced else 0.0
        attempt = self.attempt = Attempt(context, left, grace)
        self.on_attempt(self)
        return attempt, context

    def _made(self, result: Any, began: float, attempt: Attempt | None, context: Context, runtime: Runtime) -> Result:
        if attempt is not None and not attempt.claim():
            raise LeftBehind
        if not isinstance(result, Result):
            text = f"the runtime {type(runtime).__name__} returned {type(result).__name__}, not a Result"
            return Result.error(text, exception=TypeError(text))
        if self.chain.listeners and "crash" in result.metadata:
            self.chain.emit(Event("crash", self.call, result=result, detail={"error": result.error_message}))
        deadline = context.deadline
        if deadline is not None and runtime.limits == "told" and monotonic() > deadline:
            return overran(result, round(max(0.0, deadline - began), 3))
        return result


_HERE = InlineRuntime()


def is_plain(tool: Tool) -> bool:
    """Whether a tool has no use for a context: nothing of it reaches its code, and it sets no limit."""
    return tool.timeout is None and not tool.is_async and not tool.takes_context


def overran(result: Result, limit: float) -> Result:
    """A result that came after a limit which nothing could enforce says so."""
    if result.error_type == "timeout_error":  # the tool's own coroutine was cancelled in time
        return result
    return result.with_metadata({"timeout": limit, "timeout_enforced": False})


def failure(error: BaseException) -> Result:
    """The result of a call whose exception no tool has handled."""
    if isinstance(error, cancellations()):
        return cancelled_inside(error)
    answer = answer_of(error)
    return Result.error(said(error), exception=error) if answer is None else answer


def cancelled_inside(error: BaseException | None = None) -> Result:
    """The result of a call that was cancelled by a tool, its own or another, and not by the caller."""
    return Result.error("it was cancelled from inside", type="cancelled", exception=error)


def _running(error: BaseException) -> Future[Any] | None:
    """Of a cancellation, the thread that goes on all the same; see `Runtime._in_thread`."""
    running = error.args[0] if error.args else None
    return running if hasattr(running, "add_done_callback") else None


def _uncancel(attempt: Attempt | None) -> bool:
    """Whether the task was cancelled for the limit of its attempt, which ends here."""
    if attempt is None or attempt.task is None or not attempt.is_over:
        return False
    attempt.task.uncancel()
    return True
