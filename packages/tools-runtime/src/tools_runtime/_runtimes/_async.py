"""Calls beside each other, in one event loop."""

from __future__ import annotations

from tools_runtime._runtimes._runtime import Runtime, check_concurrency


class AsyncRuntime(Runtime):
    """Makes calls as tasks of an event loop: any number at once, unless `max_concurrency` says otherwise.

    At its limit a coroutine is cancelled; one that does not end within `grace` seconds of that is left behind.
    Synchronous tools run in worker threads. `execute` uses the event loop of tools-core, `aexecute` the running one.
    """

    name = "async"
    limits = "watched"
    runs_in_loop = True

    def __init__(self, max_concurrency: int | None = None, *, grace: float = 0.25) -> None:
        check_concurrency(max_concurrency)
        self.max_concurrency = max_concurrency
        self.grace = grace
