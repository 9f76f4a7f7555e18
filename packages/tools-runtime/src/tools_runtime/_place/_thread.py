"""Concurrent calls in threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_core import Result
from tools_runtime._place._gate import check_concurrency
from tools_runtime._place._runtime import Runtime

if TYPE_CHECKING:
    from tools_core import Context, Tool, ToolCall
    from tools_runtime._place._runtime import Placed

MAX_ABANDONED = 256


class ThreadRuntime(Runtime):
    """Run up to `max_concurrency` calls at once, each in a thread.

    The default of 64 suits tools that wait rather than compute. A thread cannot be stopped: at its limit a call is
    abandoned, `context.cancelled` becomes true, and its result says that it may still have effects. `abandoned` counts
    abandoned calls that are still running; after 256 of them new calls are refused. Coroutines are cancelled.
    """

    name = "thread"
    stops = "cancelled"

    def __init__(self, max_concurrency: int = 64) -> None:
        check_concurrency(max_concurrency)
        self.max_concurrency = max_concurrency

    @property
    def is_sequential(self) -> bool:
        return False

    def begin(self, tool: Tool, call: ToolCall, context: Context) -> Placed:
        if self.abandoned >= MAX_ABANDONED:
            message = f"{self.abandoned} earlier calls ran past their limits and have not ended; wait until some do"
            return Result.error(message, type="unavailable")
        return super().begin(tool, call, context)
