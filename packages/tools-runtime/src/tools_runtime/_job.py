"""One call on its way: its hooks, its attempts and, in the end, its result."""

from __future__ import annotations

import threading
from time import monotonic
from typing import TYPE_CHECKING, Any

from tools_core import Result, Tool, ToolCall
from tools_runtime._chain import HOOKS, Chain, Layer
from tools_runtime._drive import adrive, drive
from tools_runtime._event import Event

if TYPE_CHECKING:
    from asyncio import Task
    from collections.abc import Callable, Mapping

    from tools_core import Context
    from tools_runtime._chain import Steps
    from tools_runtime._runtimes import Runtime


class LeftBehind(BaseException):
    """This attempt ended after its call had been answered: nobody asks for what it came to."""


class Attempt:
    """A call that is being made, and may be left behind: whoever claims it first says what it came to."""

    __slots__ = ("_claim", "context", "deadline", "is_over", "limit", "task")

    def __init__(self, context: Context, limit: float) -> None:
        self.context = context
        self.limit = limit
        self.deadline = monotonic() + limit
        self.is_over = False  # its limit has passed, and its task was cancelled for that
        self.task: Task[Any] | None = None
        self._claim = threading.Lock()

    def claim(self) -> bool:
        """Whether it was not claimed before."""
        return self._claim.acquire(blocking=False)

    def time_out(self) -> Result | None:
        """Leave it behind: the result of the call, or None if it has just ended by itself."""
        if not self.claim():
            return None
        self.context.cancel()
        return self.timed_out(abandoned=True)

    def timed_out(self, *, abandoned: bool) -> Result:
        """The result of a call that did not end within its limit."""
        end = "; it may still be running and have effects" if abandoned else " and was cancelled"
        known = {"timeout": round(self.limit, 3)}
        return Result.error(
            f"did not end within its limit of {round(self.limit + 0.0005, 2) or self.limit:.3g} s{end}",
            type="timeout_error",
            metadata={**known, "abandoned": True} if abandoned else known,
        )


class Job:
    """A call with all that is needed to make it."""

    __slots__ = (
        "attempt", "call", "chain", "context", "is_delivered", "limit", "on_attempt", "on_late", "result", "runtime",
        "steps", "tool", "tools",
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
    ) -> None:
        self.call = call
        self.tool = tool  # a Result where there is none
        self.tools = tools
        self.runtime = runtime
        self.chain = chain
        self.context = context
        self.limit = limit
        self.result: Result | None = None
        self.steps: Steps | None = None
        self.attempt: Attempt | None = None
        self.on_attempt: Callable[[Job], None] | None = None  # told when a limit begins that somebody has to watch
        self.is_delivered = False
        self.on_late: Callable[[ToolCall, Result], None] | None = (
            None  # takes a result that comes when nobody asks any more
        )

    def run(self) -> Result:
        """Make the call, hooks and all, in this thread."""
        make = self._wrap if self.runtime.wraps else self._make
        begun = self._begin()
        return self.end(make(self.call) if begun is None else drive(begun, make))

    def resume(self, value: Result) -> Result:
        """Go on, in this thread, with the result of an attempt that was left behind."""
        make = self._wrap if self.runtime.wraps else self._make
        return self.end(value if self.steps is None else drive(self.steps, make, value))

    async def arun(self) -> Result:
        """`run` for coroutines."""
        make = self._awrap if self.runtime.wraps else self._amake
        begun = self._begin()
        try:
            return self.end(await make(self.call) if begun is None else await adrive(begun, make))
        except LeftBehind:
            from asyncio import CancelledError  # loaded already: somebody awaits us

            raise CancelledError from None

    async def aresume(self, value: Result) -> Result:
        """`resume` for coroutines."""
        make = self._awrap if self.runtime.wraps else self._amake
        return self.end(value if self.steps is None else await adrive(self.steps, make, value))

    def _wrap(self, call: ToolCall) -> Result:
        """Make the call with what the runtime wraps around it."""
        return drive(self._wrapped(call), self._make)

    async def _awrap(self, call: ToolCall) -> Result:
        return await adrive(self._wrapped(call), self._amake)

    def _wrapped(self, call: ToolCall) -> Steps:
        runtime = self.runtime
        layer = Layer(
            lambda call, _, context: runtime.around_tool_call(call, context), type(runtime).__name__, HOOKS[0]
        )
        chain = Chain([layer], (), ())
        chain.listeners = self.chain.listeners
        return chain.steps(call, None, self.context)

    def _make(self, call: ToolCall) -> Result:
        """Make the call itself."""
        runtime = self.runtime
        tool = self._known(call)
        if runtime.is_here and isinstance(tool, Tool) and is_plain(tool):
            return directly(tool, call, self.limit)
        attempt, context = self._attempt()
        began = monotonic()
        try:
            if tool is None:
                result = runtime.dispatch_tool_call(call, self.tools, context)
            else:
                result = tool if isinstance(tool, Result) else runtime.run_tool(tool, call, context)
        except Exception as error:  # noqa: BLE001  (a runtime of somebody's own may raise anything)
            result = _failure(error)
        return self._made(result, began, attempt)

    async def _amake(self, call: ToolCall) -> Result:
        runtime, tool = self.runtime, self._known(call)
        attempt, context = self._attempt()
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
        except Exception as error:  # noqa: BLE001  (see _make)
            result = _failure(error)
        except BaseException:
            if attempt is None or attempt.task is None or not attempt.is_over:
                raise
            attempt.task.uncancel()  # it was cancelled for its limit, and by nobody else
            if attempt.task.cancelling():
                raise
            result = attempt.timed_out(abandoned=not isinstance(tool, Tool) or not tool.is_async)
        return self._made(result, began, attempt)

    def end(self, result: Result) -> Result:
        """Keep the result, and tell the listeners."""
        self.result = result
        if self.chain.listeners:
            self.chain.emit(Event("end", self.call, result=result))
        if self.on_late is not None:
            self.on_late(self.call, result)
        return result

    def _begin(self) -> Steps | None:
        chain = self.chain
        if chain.listeners:
            chain.emit(Event("start", self.call))
        if chain.is_empty:
            return None
        self.steps = chain.steps(self.call, None if isinstance(self.tool, Result) else self.tool, self.context)
        return self.steps

    def _known(self, call: ToolCall) -> Tool | Result | None:
        """The tool, where it is for us to find it; None leaves that to the runtime's own dispatch."""
        if self.runtime.dispatches:
            return None
        if call is self.call or call.name == self.call.name:
            return self.tool
        from tools_runtime._runtimes._runtime import find  # a hook made another call of it: rare

        return find(call, self.tools)

    def _attempt(self) -> tuple[Attempt | None, Context]:
        runtime, tool = self.runtime, self.tool
        context = self.context.for_call(self.limit, self.call.id)
        context.enforced = runtime.worker_thread or (
            not runtime.runs_in_loop and isinstance(tool, Tool) and tool.is_async  # which Tool.call cancels
        )
        if context.deadline is None or self.on_attempt is None or runtime.limits != "watched":
            return None, context
        attempt = self.attempt = Attempt(context, max(0.0, context.deadline - monotonic()))
        self.on_attempt(self)
        return attempt, context

    def _made(self, result: Any, began: float, attempt: Attempt | None) -> Result:
        if attempt is not None and not attempt.claim():
            raise LeftBehind
        if not isinstance(result, Result):
            text = f"the runtime {type(self.runtime).__name__} returned {type(result).__name__}, not a Result"
            return Result.error(text, exception=TypeError(text))
        limit = self.limit
        if limit is not None and self.runtime.limits == "told" and monotonic() - began > limit:
            return overran(result, limit)
        return result


def is_plain(tool: Tool) -> bool:
    """Whether a tool has no use for a context: nothing of it reaches its code, and it sets no limit."""
    return tool.timeout is None and not tool.is_async and not tool.takes_context


def directly(tool: Tool, call: ToolCall, limit: float | None) -> Result:
    """Call a plain tool in this thread."""
    if limit is None:
        return tool.call(call.given)
    began = monotonic()
    result = tool.call(call.given)
    return result if monotonic() - began <= limit else overran(result, limit)


def overran(result: Result, limit: float) -> Result:
    """A result that came after a limit which nothing could enforce says so."""
    if result.error_type == "timeout_error":  # the tool's own coroutine was cancelled in time
        return result
    return result.with_metadata({"timeout": limit, "timeout_enforced": False})


def _failure(error: Exception) -> Result:
    return Result.error(f"{type(error).__name__}: {error}", exception=error)
