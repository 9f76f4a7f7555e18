"""One call after the other, in the thread that asks."""

from __future__ import annotations

from tools_runtime._runtimes._runtime import Runtime


class InlineRuntime(Runtime):
    """Makes each call in the thread that asks for its result, and not before it is asked for.

    A tool that is a coroutine is cancelled at its limit; a synchronous one cannot be stopped here: it runs to its end,
    and a result that came too late says so in `metadata["timeout_enforced"]`. With `worker_thread=True` a limited call
    runs in a thread that can be left behind.
    """

    name = "inline"

    def __init__(self, *, worker_thread: bool = False) -> None:
        self.worker_thread = worker_thread
        self.limits = "kept" if worker_thread else "told"
        self.is_here = self.is_here and not worker_thread
