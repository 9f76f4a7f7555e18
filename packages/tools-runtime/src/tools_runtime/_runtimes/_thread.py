"""Calls beside each other, in threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_core import Result
from tools_runtime._runtimes._runtime import Runtime, check_concurrency

if TYPE_CHECKING:
    from tools_core import Context, Tool, ToolCall


class ThreadRuntime(Runtime):
    """Makes up to `max_concurrency` calls at once, each in a thread, hooks included.

    By default 64 at once, for tools that wait for others rather than compute. No thread can be stopped: at its limit a
    call is left behind, told to stop by `context.cancelled`, and its result says that it may still have effects.
    `leaked` counts those that have not ended since; once there are `max_leaked`, further calls are refused.
    """

    name = "thread"
    limits = "watched"

    def __init__(self, max_concurrency: int = 64, *, max_leaked: int = 256) -> None:
        check_concurrency(max_concurrency)
        self.max_concurrency = max_concurrency
        self.max_leaked = max_leaked

    def run_tool(self, tool: Tool, call: ToolCall, context: Context | None) -> Result:
        return self._refusal() or super().run_tool(tool, call, context)

    async def arun_tool(self, tool: Tool, call: ToolCall, context: Context | None) -> Result:
        if tool.is_async and type(self).run_tool is ThreadRuntime.run_tool:
            return self._refusal() or await tool.acall(call.given, context)
        return await super().arun_tool(tool, call, context)

    def _refusal(self) -> Result | None:
        if self.leaked < self.max_leaked:
            return None
        return Result.error(
            f"{self.leaked} earlier calls ran past their limits and still have not ended; "
            "no more are made until some do",
            type="unavailable",
        )
