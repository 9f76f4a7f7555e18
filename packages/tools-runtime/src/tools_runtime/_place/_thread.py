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
    """Makes up to `max_concurrency` calls at once, each in a thread.

    By default 64 at once, for tools that wait for others rather than compute. A thread cannot be stopped: at its limit
    a call is abandoned, `context.cancelled` tells it to stop, and its result says that it may still have effects.
    `abandoned` counts those that have not ended; once there are 256, further calls are refused. Coroutines are
    cancelled at their limit.
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
