"""Concurrent calls in one event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_core import Tool
from tools_runtime._place._gate import Gate, check_concurrency
from tools_runtime._place._runtime import Runtime

if TYPE_CHECKING:
    from tools_core import Result

MAX_THREADS = 64


class AsyncRuntime(Runtime):
    """Run calls as tasks of an event loop, at most `max_concurrency` at once.

    At its limit a coroutine is cancelled, and abandoned if it does not end within `grace` seconds. Synchronous tools
    run in up to 64 worker threads. `execute` uses an event loop of the library, `aexecute` the running one.
    """

    name = "async"
    stops = "cancelled"

    def __init__(self, max_concurrency: int | None = None, *, grace: float = 0.25) -> None:
        check_concurrency(max_concurrency)
        self.max_concurrency = max_concurrency
        self.grace = grace
        self._threads = Gate(MAX_THREADS)

    @property
    def is_sequential(self) -> bool:
        return False

    def gates_for(self, tool: Tool | Result) -> tuple[Gate, ...]:
        gates = super().gates_for(tool)
        return (*gates, self._threads) if isinstance(tool, Tool) and not tool.is_async else gates
