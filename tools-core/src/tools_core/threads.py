"""Worker threads, and a shared event loop for coroutines that synchronous code runs.

`Tool.call` and `Tool.acall` use `in_thread` and `start_coroutine`; runtimes of other packages can use them, too.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from contextvars import ContextVar, copy_context
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

T = TypeVar("T")
_Job: TypeAlias = Callable[[], None]

_MAX_IDLE = 2.0  # seconds until an unused worker thread ends
_LOOP_RESPONSE = 0.1  # seconds in which a healthy event loop responds: it needs a thousandth of that
_idle_threads: list[SimpleQueue[_Job]] = []  # the queues of jobs of unused worker threads
_lock = threading.Lock()
_shared_loop: AbstractEventLoop | None = None
# Set in coroutines of the shared loop, and in threads that they start: the loop may be waiting for them.
_is_nested: ContextVar[bool] = ContextVar("is_nested", default=False)


def in_thread(body: Callable[[], T]) -> Future[T]:
    """Run `body` in a thread that does nothing else meanwhile, with the context variables of this one.

    The thread is a daemon: a body that never ends does not delay others, as in a pool, nor the end of the process.
    """
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()  # so that it cannot be cancelled
    run = copy_context().run

    def work() -> None:
        try:
            future.set_result(run(body))
        except StopIteration as error:  # a future of asyncio cannot hold it
            future.set_exception(RuntimeError(f"the function raised {error!r}"))
        except BaseException as error:  # noqa: BLE001  (raised again by the future)
            future.set_exception(error)

    try:
        jobs = _idle_threads.pop()
    except IndexError:
        jobs = SimpleQueue()
        threading.Thread(target=_work_off, args=(jobs,), name="tools-core worker", daemon=True).start()
    jobs.put(work)
    return future


def _work_off(jobs: SimpleQueue[_Job]) -> None:
    """Run jobs in this thread, until there is none for some seconds."""
    job: _Job | None = jobs.get()
    while job is not None:
        job()
        job = None  # an idle thread holds no objects of its last job
        _idle_threads.append(jobs)
        job = _next_job(jobs)


def _next_job(jobs: SimpleQueue[_Job]) -> _Job | None:
    try:
        return jobs.get(timeout=_MAX_IDLE)
    except Empty:
        try:
            _idle_threads.remove(jobs)
        except ValueError:  # `in_thread` has just chosen this thread
            return jobs.get()
        return None


def run_coroutine(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end from synchronous code, also if this thread's event loop is running."""
    future = start_coroutine(coroutine)
    try:
        return future.result()
    finally:
        future.cancel()  # without effect unless the wait was interrupted


def start_coroutine(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Start a coroutine from synchronous code; cancelling the future cancels it.

    All coroutines run in one event loop, in a separate thread: a connection that one call opens serves the next.
    A coroutine that runs in that loop may block it by calling this function: such a coroutine gets a new loop, and
    cannot be cancelled by its future.
    """
    import asyncio  # 29 ms

    if _is_nested.get():
        return in_thread(lambda: asyncio.run(coroutine))
    context = copy_context()
    context.run(_is_nested.set, True)
    future: Future[T] = context.run(asyncio.run_coroutine_threadsafe, coroutine, _loop())
    return future


def replace_blocked_loop() -> None:
    """Replace the shared event loop if it is blocked. Callers use it when they abandon a coroutine."""
    global _shared_loop  # noqa: PLW0603  (see _loop)
    loop = _shared_loop
    if loop is None or _is_nested.get():  # it waits for this thread
        return
    has_responded = threading.Event()
    loop.call_soon_threadsafe(has_responded.set)
    if not has_responded.wait(_LOOP_RESPONSE):
        with _lock:
            if _shared_loop is loop:
                _shared_loop = None


def _loop() -> AbstractEventLoop:
    """Return the shared event loop; the first call starts it."""
    global _shared_loop  # noqa: PLW0603  (created by the first call that needs it)
    import asyncio  # 29 ms

    def run(loop: AbstractEventLoop) -> None:
        while True:
            with suppress(SystemExit, KeyboardInterrupt):  # of a task; its caller gets it from the future
                loop.run_forever()

    with _lock:
        if _shared_loop is None:
            _shared_loop = asyncio.new_event_loop()
            threading.Thread(target=run, args=(_shared_loop,), name="tools-core loop", daemon=True).start()
        return _shared_loop


def _forget_threads() -> None:
    global _lock, _shared_loop  # noqa: PLW0603  (another thread of the parent may have held the lock)
    _idle_threads.clear()
    _shared_loop = None
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_forget_threads)  # threads do not survive a fork
