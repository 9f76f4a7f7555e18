"""Where a batch is driven from: the calling thread or its event loop, behind one small interface.

`soon` and `at` accept functions from any thread and run them at home, in turn; `spawn` starts a coroutine. The
scheduler needs nothing else, so it is written once for `execute` and `aexecute`.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from functools import partial
from heapq import heappop, heappush
from itertools import count
from math import inf
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any

from tools_core.threads import in_thread, start_coroutine

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Event, Task, TimerHandle
    from collections.abc import Callable, Coroutine
    from contextvars import Context

    Spawned = tuple[Future[Any], Callable[[], object]]


class Home(ABC):
    """Runs functions one after the other, at once or at a time."""

    is_loop: bool

    def __init__(self) -> None:
        self._thread = threading.get_ident()

    @property
    def is_here(self) -> bool:
        """True in the thread of home."""
        return threading.get_ident() == self._thread

    @abstractmethod
    def soon(self, function: Callable[[], object]) -> None:
        """Run a function at home, after those that are waiting."""

    @abstractmethod
    def spawn(self, coroutine: Coroutine[Any, Any, Any], variables: Context) -> Spawned:
        """Start a coroutine, from any thread; return a future that is done when it has ended, and what cancels it."""

    @abstractmethod
    def at(self, when: float, function: Callable[[], object]) -> None:
        """Run a function at home at a time of `time.monotonic()`, unless home is closed before; from any thread."""

    @abstractmethod
    def close(self) -> None:
        """Stop driving: timers are forgotten."""


class CallingThread(Home):
    """The thread that called `execute`: runs functions while it waits for results."""

    is_loop = False

    def __init__(self) -> None:
        super().__init__()
        self._queue: SimpleQueue[Callable[[], object]] = SimpleQueue()
        self._timers: list[tuple[float, int, Callable[[], object]]] = []
        self._numbers = count()
        self._is_closed = False

    def soon(self, function: Callable[[], object]) -> None:
        self._queue.put(function)
        if self._is_closed:
            self._run_elsewhere()

    def spawn(self, coroutine: Coroutine[Any, Any, Any], variables: Context) -> Spawned:
        settling, future, never_began = _settling(coroutine)
        running = variables.run(start_coroutine, settling)
        running.add_done_callback(lambda _: never_began())
        return future, running.cancel

    def at(self, when: float, function: Callable[[], object]) -> None:
        timer = (when, next(self._numbers), function)
        if self.is_here:
            heappush(self._timers, timer)
        else:
            self.soon(partial(heappush, self._timers, timer))

    def wait(self, until: float = inf) -> bool:
        """Run what is due next, waiting for it; False when nothing was due by `until`."""
        while True:
            limit = min(until, self._timers[0][0] if self._timers else inf)
            try:
                function = self._queue.get(timeout=None if limit == inf else max(0.0, limit - monotonic()))
            except Empty:
                if not self._timers or self._timers[0][0] > monotonic():
                    if monotonic() >= until:
                        return False
                    continue
                function = heappop(self._timers)[2]
            function()
            return True

    def close(self) -> None:
        """Stop driving: functions that still arrive run in a worker thread."""
        self._is_closed = True
        self._run_elsewhere()

    def _run_elsewhere(self) -> None:
        while True:
            try:
                function = self._queue.get_nowait()
            except Empty:
                return
            in_thread(function)


class EventLoop(Home):
    """The event loop that `aexecute` was awaited in."""

    is_loop = True

    def __init__(self) -> None:
        import asyncio  # loaded already: a coroutine awaits us

        super().__init__()
        self._loop: AbstractEventLoop = asyncio.get_running_loop()
        self._happened: Event = asyncio.Event()
        self._timers: list[TimerHandle] = []

    def soon(self, function: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # the loop is closed: no caller is left
            if self.is_here:
                self._loop.call_soon(self._run, function)
            else:
                self._loop.call_soon_threadsafe(self._run, function)

    def spawn(self, coroutine: Coroutine[Any, Any, Any], variables: Context) -> Spawned:
        settling, future, never_began = _settling(coroutine)
        loop = self._loop
        tasks: list[Task[None]] = []

        def start() -> None:
            tasks.append(loop.create_task(settling, context=variables))
            tasks[0].add_done_callback(lambda _: never_began())

        def stop() -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(tasks[0].cancel)

        if self.is_here:
            start()
        else:
            loop.call_soon_threadsafe(start)
        return future, stop

    async def wait(self, until: float | None = None) -> bool:
        """Let the loop run until something has happened; False when nothing had by `until`."""
        import asyncio  # loaded already

        try:
            if until is None:
                await self._happened.wait()
            else:
                async with asyncio.timeout(max(0.0, until - monotonic())):
                    await self._happened.wait()
        except TimeoutError:
            return False
        self._happened.clear()
        return True

    def at(self, when: float, function: Callable[[], object]) -> None:
        def start() -> None:
            self._timers.append(self._loop.call_later(max(0.0, when - monotonic()), self._run, function))

        if self.is_here:
            start()
        else:
            self.soon(start)

    def close(self) -> None:
        for timer in self._timers:
            timer.cancel()

    def _run(self, function: Callable[[], object]) -> None:
        function()
        self._happened.set()


def _settling(coroutine: Coroutine[Any, Any, Any]) -> tuple[Coroutine[Any, Any, None], Future[Any], Callable[[], None]]:
    """A coroutine that settles a future when the given one has ended, and a function for when it never began.

    The future of `run_coroutine_threadsafe` is done as soon as it is cancelled; this one when the coroutine has ended.
    """
    future: Future[Any] = Future()
    has_begun = False

    async def run() -> None:
        nonlocal has_begun
        has_begun = True
        try:
            value = await coroutine
        except BaseException as error:  # noqa: BLE001  (it reaches the job through the future)
            future.set_exception(error)
        else:
            future.set_result(value)

    def never_began() -> None:
        if not has_begun and not future.done():
            coroutine.close()
            future.set_exception(CancelledError())

    return run(), future, never_began
