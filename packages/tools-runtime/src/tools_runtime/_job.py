"""One call on its way: its hooks, its attempts and, in the end, its result."""

from __future__ import annotations

import threading
from time import monotonic
from typing import TYPE_CHECKING, Any

from tools_core import Result, ToolCall
from tools_runtime._drive import adrive, drive
from tools_runtime._event import Event

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tools_core import Context, Tool
    from tools_runtime._chain import Chain, Steps
    from tools_runtime._runtimes import Runtime


class LeftBehind(BaseException):
    """This attempt ended after its call had been answered: nobody asks for what it came to."""


class Attempt:
    """A call that is being made, and may be left behind: whoever claims it first says what it came to."""

    __slots__ = ("_claim", "context", "deadline", "limit")

    def __init__(self, context: Context, limit: float, grace: float) -> None:
        self.context = context
        self.limit = limit
        self.deadline = monotonic() + limit + grace
        self._claim = threading.Lock()

    def claim(self) -> bool:
        """Whether it was not claimed before."""
        return self._claim.acquire(blocking=False)

    def time_out(self) -> Result | None:
        """Leave it behind: the result of the call, or None if it has just ended by itself."""
        if not self.claim():
            return None
        self.context.cancel()
        return Result.error(
            f"did not end within its limit of {self.limit:.3g} s; it may still be running and have effects",
            type="timeout_error",
            metadata={"timeout": round(self.limit, 3), "abandoned": True},
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
        self.on_late: Callable[[Job], None] | None = None  # takes a result that comes when nobody asks any more

    def run(self) -> Result:
        """Make the call, hooks and all, in this thread."""
        begun = self._begin()
        result = self.make(self.call) if begun is None else drive(begun, self.make)
        return self.end(result)

    def resume(self, value: Result) -> Result:
        """Go on, in this thread, with the result of an attempt that was left behind."""
        return self.end(value if self.steps is None else drive(self.steps, self.make, value))

    async def arun(self) -> Result:
        """`run` for coroutines."""
        begun = self._begin()
        result = await self.amake(self.call) if begun is None else await adrive(begun, self.amake)
        return self.end(result)

    async def aresume(self, value: Result) -> Result:
        """`resume` for coroutines."""
        return self.end(value if self.steps is None else await adrive(self.steps, self.amake, value))

    def make(self, call: ToolCall) -> Result:
        """Make the call itself."""
        attempt, context = self._attempt()
        began = monotonic()
        try:
            tool = self._known(call)
            if tool is None:
                result = self.runtime.dispatch_tool_call(call, self.tools, context)
            else:
                result = tool if isinstance(tool, Result) else self.runtime.run_tool(tool, call, context)
        except Exception as error:  # noqa: BLE001  (a runtime of somebody's own may raise anything)
            result = _failure(error)
        return self._made(result, began, attempt)

    async def amake(self, call: ToolCall) -> Result:
        """`make` for coroutines."""
        attempt, context = self._attempt()
        began = monotonic()
        try:
            tool = self._known(call)
            if tool is None:
                result = await self.runtime.adispatch_tool_call(call, self.tools, context)
            else:
                result = tool if isinstance(tool, Result) else await self.runtime.arun_tool(tool, call, context)
        except Exception as error:  # noqa: BLE001  (see make)
            result = _failure(error)
        return self._made(result, began, attempt)

    def end(self, result: Result) -> Result:
        """Keep the result, and tell the listeners."""
        self.result = result
        if self.chain.listeners:
            self.chain.emit(Event("end", self.call, result=result))
        if self.on_late is not None:
            self.on_late(self)
        return result

    def _begin(self) -> Steps | None:
        chain = self.chain
        if chain.listeners:
            chain.emit(Event("start", self.call))
        if not chain.layers:
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
        runtime = self.runtime
        context = self.context.for_call(self.limit, self.call.id)
        context.worker_thread = runtime.worker_thread
        remaining = context.remaining
        if remaining is None or self.on_attempt is None or runtime.limits != "watched":
            return None, context
        attempt = self.attempt = Attempt(context, remaining, runtime.grace)
        self.on_attempt(self)
        return attempt, context

    def _made(self, result: Any, began: float, attempt: Attempt | None) -> Result:
        if attempt is not None and not attempt.claim():
            raise LeftBehind
        if not isinstance(result, Result):
            text = f"the runtime {type(self.runtime).__name__} returned {type(result).__name__}, not a Result"
            return Result.error(text, exception=TypeError(text))
        limit = self.limit
        if limit is not None and self.runtime.limits == "told" and result.is_ok and monotonic() - began > limit:
            return overran(result, limit)
        return result


def overran(result: Result, limit: float) -> Result:
    """A result that came after a limit which nothing could enforce says so."""
    return result.with_metadata({"timeout": limit, "timeout_enforced": False})


def _failure(error: Exception) -> Result:
    return Result.error(f"{type(error).__name__}: {error}", exception=error)
