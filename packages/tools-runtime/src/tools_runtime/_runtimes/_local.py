"""Runtimes that run tools in this process: in order, in threads, or in an event loop."""

from __future__ import annotations

from tools_core import Result, Tool
from tools_runtime._concurrency import Gate, check_concurrency
from tools_runtime._runtimes._runtime import Runtime

MAX_THREADS = 64


class InlineRuntime(Runtime):
    """Run calls in their order, each when its result is requested.

    Without a limit, a synchronous tool runs in the calling thread. With one, it runs in a worker thread, which is
    abandoned at the limit.
    """

    name = "inline"
    stops = "cancelled"


class AutoRuntime(Runtime):
    """Run neighbouring calls at the same time if none of them changes anything, and all others in their order.

    The default. Calls of `read_only` tools overlap, and calls of coroutine functions unless they are marked as
    destructive or not read-only. Other calls run alone: after all calls before them, and before all calls after them.
    """

    name = "auto"
    stops = "cancelled"
    max_concurrency = MAX_THREADS  # of one batch

    def gates_for(self, tool: Tool | Result) -> tuple[Gate, ...]:  # noqa: ARG002  (the signature of every runtime)
        return ()

    def overlaps(self, tool: Tool | Result) -> bool:
        if isinstance(tool, Result):
            return True
        reads = tool.annotations.get("read_only")
        return bool(reads) or (tool.is_async and reads is None and not tool.annotations.get("destructive"))


class ThreadRuntime(Runtime):
    """Run up to `max_concurrency` calls at once, each with its hooks in a thread.

    By default 64 at once, for tools that wait rather than compute. A thread cannot be stopped: at its limit a call is
    abandoned, `context.cancelled` tells it to stop, and its result says that it may still be running. Coroutines are
    cancelled at their limit.
    """

    name = "thread"
    stops = "cancelled"
    runs_apart = True

    def __init__(self, max_concurrency: int = MAX_THREADS) -> None:
        check_concurrency(max_concurrency)
        self.max_concurrency = max_concurrency

    def overlaps(self, tool: Tool | Result) -> bool:  # noqa: ARG002  (all calls do, also with one thread)
        return True

    def gates_for(self, tool: Tool | Result) -> tuple[Gate, ...]:  # noqa: ARG002  (all calls count)
        if self._gate is None:
            self._gate = Gate(self.max_concurrency or MAX_THREADS)
        return (self._gate,)


class AsyncRuntime(Runtime):
    """Run calls as tasks of an event loop: any number at once, unless `max_concurrency` sets a limit.

    A coroutine is cancelled at its limit. Synchronous tools run in worker threads, 64 at once. `execute` uses a shared
    event loop in another thread, `aexecute` the running one.
    """

    name = "async"
    stops = "cancelled"
    runs_apart = needs_loop = True

    def __init__(self, max_concurrency: int | None = None) -> None:
        check_concurrency(max_concurrency)
        self.max_concurrency = max_concurrency
        self._threads = Gate(MAX_THREADS)

    def overlaps(self, tool: Tool | Result) -> bool:  # noqa: ARG002  (all calls do, also with a limit of one)
        return True

    def gates_for(self, tool: Tool | Result) -> tuple[Gate, ...]:
        gates = super().gates_for(tool)
        return (*gates, self._threads) if isinstance(tool, Tool) and not tool.is_async else gates
