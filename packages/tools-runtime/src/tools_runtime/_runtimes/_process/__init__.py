"""`ProcessRuntime`: calls in worker processes, which can be killed."""

from __future__ import annotations

import os
import weakref
from functools import partial
from typing import TYPE_CHECKING

from tools_core import Result
from tools_runtime._events import describe_error
from tools_runtime._runtimes._runtime import Runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tools_core import Context, Tool, ToolCall
    from tools_runtime._runtimes._process._pool import Pool


class ProcessRuntime(Runtime):
    """Run each call in a worker process. At the limit of the call the worker and its child processes are killed.

    A tool may compute in C, crash or exhaust memory: its call still has a result, and other calls are unaffected. If a
    worker ends before it answers, the result is an error, and `metadata["crash"]` has the name of the signal or
    `exit N`. The call is not retried.

    Workers are reused. Each call has fresh context variables, the current folder of this process, and the environment
    of this process at the first call. Arguments, results and the items of `context.state` are pickled; an item that
    cannot be pickled raises a KeyError when the tool reads it. A tool is pickled once, so later changes do not reach
    the workers; define it at the top level of a module. Workers import the main module: keep the program below
    `if __name__ == "__main__":`. The exception of a tool is `result.exception`; its cause, a `RemoteError`, has the
    worker's traceback. Printed text goes to standard error.

    Args:
        max_workers: The number of calls that run at once; by default one for each processor.
        memory: Bytes that a worker may allocate in addition to its initial memory. Beyond them, a call is a
            `limit_exceeded`.
        max_result_bytes: The maximum size of a pickled result. A larger result is a `limit_exceeded`.
        preload: Modules that workers import before their first call. They must not start threads.

    Raises: OSError on a system that cannot fork, such as Windows; ValueError for an option that is out of range.
    """

    name = "process"
    stops = "killed"
    grace = 5.0  # a kill is certain, but takes long if a call has started many processes
    is_local = False

    def __init__(
        self,
        max_workers: int | None = None,
        *,
        memory: int | None = None,
        max_result_bytes: int = 64 << 20,
        preload: Sequence[str] = (),
    ) -> None:
        if not hasattr(os, "fork"):
            raise OSError('ProcessRuntime needs a system that can fork; use runtime="thread" on this one')
        if isinstance(preload, str):
            raise TypeError(f"preload is a list of module names; write preload=[{preload!r}]")
        for option, value in (
            ("max_workers", max_workers), ("memory", memory), ("max_result_bytes", max_result_bytes),
        ):  # fmt: skip
            if value is not None and value <= 0:
                raise ValueError(f"{option} must be above 0, got {value!r}")
        self.max_concurrency = max_workers or os.cpu_count() or 1
        self._options = (tuple(preload), memory, max_result_bytes)
        self._pools: dict[int, Pool] = {}  # by process: a fork of this one has its own

    def begin(self, tool: Tool, call: ToolCall, context: Context) -> Result | Callable[[], Result]:
        """Return a function that runs the call in a worker; cancelling the context kills the worker."""
        try:
            return partial(self._open().call, tool, call, context)
        except RuntimeError as error:  # of multiprocessing, while a worker imports the program
            return Result.error(f"No worker process can be started: {describe_error(error)}", type="unavailable")

    def close(self) -> None:
        """Kill all workers and their processes; a later call starts new ones."""
        pool = self._pools.pop(os.getpid(), None)
        if pool is not None:
            pool.close()

    def _open(self) -> Pool:
        pool = self._pools.get(os.getpid())
        if pool is None:
            from tools_runtime._runtimes._process._fork_server import find_program  # 20 ms, only for processes
            from tools_runtime._runtimes._process._pool import Pool
            from tools_runtime._runtimes._process._worker import Settings

            new = Pool(Settings(dict(os.environ), find_program(), *self._options))
            pool = self._pools.setdefault(os.getpid(), new)  # another thread may have been faster
            if pool is new:
                weakref.finalize(self, new.close)
        return pool
