"""`CallerLoop`: the event loop of synchronous runs, in the thread of their caller.

Code of the user runs between two turns of the loop, so that it is ordinary code: it can call `asyncio.run`, or start
another run. The clock of a loop stands still while the loop does.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import signal
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import wait
from contextlib import suppress
from contextvars import ContextVar, copy_context
from inspect import isawaitable
from threading import current_thread, local, main_thread
from time import monotonic
from types import FrameType
from typing import Any, TypeVar
from weakref import WeakSet

from tools_core.threads import in_thread

T = TypeVar("T")
_EventLoop: Any = getattr(asyncio, "ProactorEventLoop" if sys.platform == "win32" else "SelectorEventLoop")
_home: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("home", default=None)
_END = 0.2  # seconds for tasks to end by themselves
_GRACE = 5.0  # seconds for a run to record its end after Ctrl-C


class CallerLoop(_EventLoop):  # type: ignore[misc]
    """An event loop that one run at a time uses, from any thread."""

    def __init__(self) -> None:
        self._stopped = 0.0  # seconds in which the loop did not run
        self._since = monotonic()
        self._calls: deque[Callable[[], None]] = deque()
        self._task: asyncio.Task[Any] | None = None
        self._is_interrupted = self._is_catching = False
        super().__init__()

    def time(self) -> float:
        """Return the time of the loop."""
        return monotonic() - self._stopped

    async def call(self, function: Callable[[], T]) -> T:
        """Call a function in the thread of the caller, while the loop stands still."""
        await asyncio.sleep(0)  # a consumer that waits for an event comes first
        result: asyncio.Future[T] = self.create_future()
        context = copy_context()

        def call() -> None:
            try:
                self._catch_ctrl_c(is_on=False)
                value = context.run(function)
            except StopIteration as error:  # a future cannot hold it
                result.set_exception(RuntimeError(f"the function raised {error!r}"))
            except BaseException as error:  # noqa: BLE001  (raised by the future)
                result.set_exception(error)
            else:
                result.set_result(value)
            self._catch_ctrl_c(is_on=True)

        self._calls.append(call)
        self.stop()
        return await result

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end in this thread.

        Ctrl-C, and an exception that a handler of signals raises, cancel it, and are raised when it has ended.
        """
        self._is_interrupted = False
        is_main = current_thread() is main_thread()
        self._is_catching = is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        self._catch_ctrl_c(is_on=True)
        try:
            task: asyncio.Task[T] = self.create_task(coroutine)
            return self._run(task)
        finally:
            self._catch_ctrl_c(is_on=False)

    def _run(self, task: asyncio.Task[T]) -> T:
        self._task = task
        task.add_done_callback(lambda _: self.stop())
        if self._calls:  # a stream was left at an event before them
            self.stop()
        interrupt: BaseException | None = None
        while not task.done():
            try:
                self._run_until_stop()
            except BaseException as error:  # of a call, or of a handler of signals
                if interrupt is not None and isinstance(error, Exception):  # the loop itself may be broken
                    raise
                if interrupt is None:
                    interrupt = error
                    self.cancel(type(error).__name__)
            while self._calls and not task.done():
                self._calls.popleft()()
        if self._is_interrupted and interrupt is None:
            interrupt = KeyboardInterrupt()
        if interrupt is not None:
            if not task.cancelled():
                task.exception()
            try:
                raise interrupt
            finally:
                interrupt = None  # its traceback refers to this frame
        return task.result()

    def cancel(self, reason: str = "KeyboardInterrupt") -> None:
        """Cancel the coroutine that runs, as Ctrl-C does."""
        if self._task is not None:
            self._task.cancel(reason)

    def _run_until_stop(self) -> None:
        self._stopped += monotonic() - self._since
        try:
            self.run_forever()
        finally:
            self._since = monotonic()

    def _catch_ctrl_c(self, *, is_on: bool) -> None:
        """Let Ctrl-C cancel the run, or interrupt the code of the user as usual; unless that has its own handler."""
        if is_on and signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            self._is_catching = False
        if self._is_catching:
            signal.signal(signal.SIGINT, self._on_ctrl_c if is_on else signal.default_int_handler)

    def _on_ctrl_c(self, _: int, __: FrameType | None) -> None:
        if self._is_interrupted:
            raise KeyboardInterrupt
        self._is_interrupted = True
        self.cancel()
        self.call_soon_threadsafe(lambda: None)  # the loop may be waiting

    def close(self) -> None:
        """Cancel what still runs, close connections, and close the loop."""
        if self.is_closed():
            return
        with suppress(Exception):
            self.run(self._end_tasks())
        super().close()

    async def _end_tasks(self) -> None:
        await asyncio.sleep(0)  # tasks that other threads have started
        tasks = asyncio.all_tasks() - {self._task}
        if tasks:  # connections that end
            _, tasks = await asyncio.wait(tasks, timeout=_END)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.shutdown_asyncgens()


class _Idle:
    """The loops of a thread that no run uses, which end with the thread."""

    def __init__(self) -> None:
        self.loops: list[CallerLoop] = []

    def __del__(self) -> None:
        for loop in self.loops:
            # The garbage collector may be called in another loop. Python 3.13 would forget that this one is running.
            loop.close() if asyncio._get_running_loop() is None else in_thread(loop.close)


class _Local(local):
    def __init__(self) -> None:
        self.idle = _Idle()
        _all_idle.add(self.idle)


_all_idle: WeakSet[_Idle] = WeakSet()
_local = _Local()


class LoopOfCaller:
    """A loop for the coroutines of one run, one after another.

    A thread that runs an event loop already, as in Jupyter, cannot run a second one: then a worker thread runs it.
    """

    def __init__(self) -> None:
        self._home = _local.idle
        self._loop = self._home.loops.pop() if self._home.loops else CallerLoop()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end."""
        if asyncio._get_running_loop() is None:
            return self._loop.run(coroutine)
        future = in_thread(lambda: self._loop.run(coroutine))
        try:
            return future.result()
        except BaseException as error:
            if not future.done():  # it is that of a handler of signals
                with suppress(RuntimeError):
                    self._loop.call_soon_threadsafe(self._loop.cancel, type(error).__name__)
                wait([future], timeout=_GRACE)
            raise

    def release(self) -> None:
        """Let another run of the thread use the loop."""
        self._home.loops.append(self._loop)


def run_here(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in this thread, on a loop of its own."""
    loop = LoopOfCaller()
    try:
        return loop.run(coroutine)
    finally:
        loop.release()


async def in_worker(function: Callable[[], T]) -> T:
    """Call a function in a worker thread. Coroutines that it passes to `awaited` run in this event loop."""
    token = _home.set(asyncio.get_running_loop())
    try:
        return await asyncio.to_thread(function)
    finally:
        _home.reset(token)


def awaited(value: Any) -> Any:
    """Return a value of a function of the user; that of a coroutine function is awaited."""
    if not isawaitable(value):
        return value
    home = _home.get()
    if home is None or not home.is_running() or asyncio._get_running_loop() is home:
        return run_here(_await(value))
    return asyncio.run_coroutine_threadsafe(_await(value), home).result()


async def _await(value: Awaitable[T]) -> T:
    return await value


def _close_idle_loops() -> None:
    for idle in list(_all_idle):
        while idle.loops:
            idle.loops.pop().close()


def _forget_loops() -> None:
    global _all_idle, _local  # noqa: PLW0603  (the selectors of the loops are the parent's)
    _of_parent.extend((list(_all_idle), _local))
    _all_idle = WeakSet()
    _local = _Local()


_of_parent: list[Any] = []  # never deleted, since closing these loops would disturb the parent
atexit.register(_close_idle_loops)
if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_forget_loops)
