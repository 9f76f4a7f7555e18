"""Where a body runs that must not run here: worker threads, and an event loop for a coroutine without one.

`Tool.call` and `Tool.acall` use `in_thread` and `start_coroutine`; runtimes of other packages can use them, too.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from contextvars import ContextVar, copy_context
from queue import Empty, SimpleQueue

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable, Coroutine
    from concurrent.futures import Future
    from typing import Any, TypeAlias, TypeVar

    T = TypeVar("T")

Outcome: TypeAlias = "tuple[Any, BaseException | None]"

_IDLE_SECONDS = 10.0
_TURN = 0.1  # seconds for an event loop to come round: one in which nothing blocks takes a thousandth
_idle: list[SimpleQueue[Callable[[], None]]] = []
_lock = threading.Lock()
_running_loop: AbstractEventLoop | None = None
_loop_thread: int | None = None
_holds_up_loop: ContextVar[bool] = ContextVar("holds_up_loop", default=False)  # the thread that waits for us does


def in_thread(body: Callable[[], Any], *, is_waited_for: bool = False) -> Future[Outcome]:
    """Run `body` in a worker thread with this thread's context variables; the future holds value or exception.

    `is_waited_for` says that this thread does nothing until the body has ended, not even run its event loop.
    Threads are daemons, made as needed and kept for a while: a body that never ends must neither hold up others, as
    in a pool of fixed size, nor the end of the process.
    """
    from concurrent.futures import Future  # 5 ms, only where a thread is needed

    future: Future[Outcome] = Future()
    context = copy_context()
    if is_waited_for and threading.get_ident() == _loop_thread:
        context.run(_holds_up_loop.set, True)

    def job() -> None:
        if future.set_running_or_notify_cancel():  # from here on it cannot be cancelled
            future.set_result(_outcome(context.run, body))

    with _lock:
        if _idle:
            _idle.pop().put(job)
            return future
    inbox: SimpleQueue[Callable[[], None]] = SimpleQueue()
    inbox.put(job)  # before it starts: an interruption in between would leave it waiting for ever
    threading.Thread(target=_work, args=(inbox,), name="tools-core worker", daemon=True).start()
    return future


def run_coroutine(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end from synchronous code, also when this thread's event loop is running."""
    future = start_coroutine(coroutine)
    try:
        return future.result()
    except BaseException:
        future.cancel()  # where it was the wait that was interrupted; else it has ended
        raise


def start_coroutine(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Start a coroutine from synchronous code; cancelling the future cancels it.

    All of them run in one event loop, in a separate thread: what one call opens, a connection or a session, the next
    one can use.
    """
    import asyncio  # 30 ms, only where there is a coroutine

    loop = _loop()
    if threading.get_ident() != _loop_thread and not _holds_up_loop.get():
        return asyncio.run_coroutine_threadsafe(coroutine, loop)
    # One of its coroutines calls synchronously: the loop waits for us.
    runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
    own = runner.get_loop()
    context = copy_context()
    context.run(_holds_up_loop.set, True)
    future = context.run(asyncio.run_coroutine_threadsafe, coroutine, own)
    future.add_done_callback(lambda _: own.call_soon_threadsafe(own.stop))

    def run() -> None:
        with runner:
            own.run_forever()

    in_thread(run)
    return future


def _loop() -> AbstractEventLoop:
    global _running_loop, _loop_thread  # noqa: PLW0603  (made at the first call that needs it)
    with _lock:
        if _running_loop is None:
            import asyncio  # see run_coroutine

            _running_loop = asyncio.new_event_loop()
            thread = threading.Thread(target=_run, args=(_running_loop,), name="tools-core loop", daemon=True)
            thread.start()
            _loop_thread = thread.ident
        return _running_loop


def leave_blocked_loop() -> None:
    """Have what comes later run in another event loop, if something blocks the one in which `start_coroutine` runs it.

    Callers use it when they abandon a coroutine that did not end.
    """
    global _running_loop  # noqa: PLW0603  (see _loop)
    loop = _running_loop
    if loop is None or threading.get_ident() == _loop_thread or _holds_up_loop.get():  # it waits for us
        return
    came_round = threading.Event()
    loop.call_soon_threadsafe(came_round.set)
    if not came_round.wait(_TURN):
        with _lock:
            if _running_loop is loop:
                _running_loop = None


def _run(loop: AbstractEventLoop) -> None:
    while True:
        with suppress(SystemExit, KeyboardInterrupt):  # of a task, which raises it where its caller waits as well
            loop.run_forever()


def unwrap(outcome: Outcome) -> Any:
    """The value, or the exception raised."""
    value, error = outcome
    if error is not None:
        raise error
    return value


def _outcome(run: Callable[..., Any], body: Callable[[], Any]) -> Outcome:
    try:
        return run(body), None
    except BaseException as error:  # noqa: BLE001  (raised again where the caller waits)
        return None, error


def _work(inbox: SimpleQueue[Callable[[], None]]) -> None:
    while True:
        try:
            job = inbox.get(timeout=_IDLE_SECONDS)
        except Empty:
            with _lock:
                if inbox in _idle:
                    _idle.remove(inbox)
                    return
            continue  # taken from the idle ones this very moment: its job is on the way
        job()
        del job  # what it holds must not live until the next one comes
        with _lock:
            _idle.append(inbox)


def _forget_threads() -> None:
    global _lock, _running_loop, _loop_thread  # noqa: PLW0603  (a thread of the parent may have held the lock)
    _running_loop = _loop_thread = None
    _idle.clear()
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_forget_threads)  # threads do not survive a fork
