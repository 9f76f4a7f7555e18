"""Run the steps of a call: `drive` in this thread, `adrive` in the running event loop.

The steps are a generator. It yields a `Wait` for everything that takes time, and receives the future of that work,
which is done unless the wait ended early.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Future
from inspect import iscoroutine
from threading import Event
from time import monotonic
from types import coroutine
from typing import Any, NamedTuple, TypeAlias, TypeVar

from tools_core import Context
from tools_core.threads import in_thread, start_coroutine

T = TypeVar("T")
Steps: TypeAlias = Generator[Any, Any, T]


class Wait(NamedTuple):
    """A wait for work: a future, a coroutine, or a function that blocks.

    It ends when the work is done, at `until` (of `time.monotonic()`), or when `context` is cancelled.
    """

    work: Future[Any] | asyncio.Future[Any] | Coroutine[Any, Any, Any] | Callable[[], Any]
    context: Context | None = None
    until: float | None = None


def pause(seconds: float, context: Context) -> Steps[None]:
    """Wait for a number of seconds, or until the context is cancelled."""
    yield Wait(Future(), context, monotonic() + seconds)


def drive(steps: Steps[T]) -> T:
    """Run steps to their end in this thread.

    After a KeyboardInterrupt the context of the wait is cancelled, and the interrupt is raised when the steps end.
    """
    interrupt: KeyboardInterrupt | None = None
    future: Any = None
    while True:
        try:
            wait: Wait = steps.send(future)
        except StopIteration as end:
            if interrupt is not None:
                raise interrupt from None
            result: T = end.value
            return result
        future = _start(wait)
        try:
            _block(future, wait)
        except KeyboardInterrupt as error:
            interrupt = error
            if wait.context is not None:
                wait.context.cancel()


@coroutine
def adrive(steps: Steps[T]) -> Generator[Any, Any, T]:
    """Run steps to their end in the running event loop.

    Futures of asyncio, which coroutines inside the steps await, are passed to the event loop.
    """
    future: Any = None
    error: BaseException | None = None
    while True:
        try:
            step = steps.send(future) if error is None else steps.throw(error)
        except StopIteration as end:
            result: T = end.value
            return result
        error = None
        try:
            future = (yield from _await(step).__await__()) if isinstance(step, Wait) else (yield step)
        except BaseException as raised:  # noqa: BLE001  (raised where the steps wait)
            error = raised


def _start(wait: Wait) -> Future[Any]:
    """Start work and return its future."""
    work = wait.work
    if isinstance(work, Future):
        return work
    if iscoroutine(work):
        return start_coroutine(work)
    function: Any = work
    return in_thread(function)


def _block(future: Future[Any], wait: Wait) -> None:
    """Block this thread until a wait ends."""
    over = Event()
    future.add_done_callback(lambda _: over.set())
    unregister = None if wait.context is None else wait.context.on_cancel(over.set)
    try:
        over.wait(None if wait.until is None else max(0.0, wait.until - monotonic()))
    finally:
        if unregister is not None:
            unregister()


async def _await(wait: Wait) -> Any:
    """Start work in the running event loop, and return its future when the wait ends."""
    loop = asyncio.get_running_loop()
    work = wait.work
    future: Any = loop.create_task(work) if iscoroutine(work) else work if asyncio.isfuture(work) else _start(wait)
    over = loop.create_future()

    def wake(_: object = None) -> None:
        if not over.done():
            over.set_result(None)

    def wake_from_thread(_: object = None) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(wake)

    future.add_done_callback(wake if asyncio.isfuture(future) else wake_from_thread)
    unregister = None if wait.context is None else wait.context.on_cancel(wake_from_thread)
    timer = None if wait.until is None else loop.call_later(max(0.0, wait.until - monotonic()), wake)
    try:
        await over
    except BaseException:  # the task was cancelled
        if iscoroutine(work):
            future.cancel()
        raise
    finally:
        if unregister is not None:
            unregister()
        if timer is not None:
            timer.cancel()
    return future
