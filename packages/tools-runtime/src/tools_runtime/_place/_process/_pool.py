"""The workers of one runtime."""

from __future__ import annotations

import os
import threading
from time import monotonic
from typing import TYPE_CHECKING
from weakref import WeakSet

from tools_core import Result
from tools_runtime._place._process._fork_server import ForkServer
from tools_runtime._place._process._messages import Tools
from tools_runtime._place._process._worker import Worker

if TYPE_CHECKING:
    from tools_runtime._place._process._serve import Settings
    from tools_runtime._place._process._worker import Attempt

_END = 8.0  # seconds for all workers to end, of which a supervisor takes 5 where something hangs
_pools: WeakSet[Pool] = WeakSet()


class Pool:
    """Starts workers as they are needed, and keeps them."""

    def __init__(self, settings: Settings) -> None:
        self.fork_server = ForkServer(settings)
        self.tools = Tools()
        self.is_closed = False
        self.owner = os.getpid()
        self._idle: list[Worker] = []
        self._workers: set[Worker] = set()
        self._lock = threading.RLock()  # a garbage collection inside it may close the pool
        _pools.add(self)

    def submit(self, attempt: Attempt) -> None:
        """Send a call to an idle worker, or start one for it."""
        if attempt.is_cancelled:
            attempt.finish(Result.error("The call was cancelled before it began.", type="cancelled"))
            return
        with self._lock:
            idle = self._idle.pop() if self._idle else None
            new = Worker(self) if idle is None and not self.is_closed else None
            if new is not None:
                self._workers.add(new)
        if idle is not None:
            idle.send(attempt)
        elif new is not None:
            new.start(attempt)
        else:
            attempt.finish(Result.error("The runtime was closed before the call began.", type="interrupted"))

    def give_back(self, worker: Worker) -> None:
        """Keep a worker that has answered for the next call."""
        with self._lock:
            if not self.is_closed:
                self._idle.append(worker)

    def discard(self, worker: Worker) -> None:
        """Forget a worker that has ended."""
        with self._lock:
            self._workers.discard(worker)
            if worker in self._idle:
                self._idle.remove(worker)

    def close(self) -> None:
        """Kill all workers, and wait until they have ended."""
        if self.owner != os.getpid():
            return
        with self._lock:
            self.is_closed = True
            self._idle.clear()
            workers = list(self._workers)
        for worker in workers:
            worker.kill()
        until = monotonic() + _END
        for worker in workers:
            if worker.thread is not threading.current_thread():
                worker.thread.join(max(0.0, until - monotonic()))
        self.fork_server.stop()

    def abandon(self) -> None:
        """In a fork of the host: close what belongs to the parent."""
        for worker in self._workers:
            worker.abandon()
        self.fork_server.abandon()


def _after_fork() -> None:
    for pool in list(_pools):
        pool.abandon()
    _pools.clear()


os.register_at_fork(after_in_child=_after_fork)
