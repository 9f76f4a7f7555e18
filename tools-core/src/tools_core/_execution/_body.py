"""Run the body of a tool within its limit, from synchronous code or from a coroutine."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from threading import Event
from types import AsyncGeneratorType, CoroutineType
from typing import TYPE_CHECKING, Any

from tools_core._execution._outcome import Stopped
from tools_core._execution._prepare import Runnable
from tools_core._values._context import Context

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Timeout, TimerHandle

_CANCEL_GRACE = 0.25  # seconds for a cancelled body to return
_MANAGED_GRACE = 5.0  # seconds for a tool with `manages_timeout` to return its own result
_FINAL = frozenset({str, int, float, bool, type(None), dict, list})
_AWAITED = frozenset({CoroutineType, AsyncGeneratorType})


def run(tool: Runnable, arguments: dict[str, Any], context: Context | None) -> Any:
    """Run the body from synchronous code: in this thread, or in a worker thread if there is a limit."""
    if tool._spec.is_async:
        return _run_coroutine(tool.execute(**arguments), context, _grace(tool))
    if context is None or _limit(context) is None:
        value = tool.execute(**arguments)
        return value if type(value) in _FINAL else finish(value, context, _grace(tool))
    return _run_in_thread(tool, arguments, context)


async def arun(tool: Runnable, arguments: dict[str, Any], context: Context | None) -> Any:
    """Run the body from a coroutine: an `async def` in this event loop, any other in a worker thread."""
    import asyncio  # 29 ms

    from tools_core.threads import in_thread  # see _run_in_thread

    if tool._spec.is_async:
        return await _limited(tool.execute(**arguments), context, _grace(tool))
    if context is not None and context.here is not None:
        value = await context.here(lambda: _listed(tool.execute(**arguments)))
        return await _limited(value, context, _grace(tool)) if type(value) in _AWAITED else value
    future = asyncio.wrap_future(in_thread(lambda: _listed(tool.execute(**arguments))))
    # The shield lets the thread continue after the wait.
    value = await _limited(asyncio.shield(future), context, _grace(tool), in_thread=True)
    return await _limited(value, context, _grace(tool)) if type(value) in _AWAITED else value


def finish(value: Any, context: Context | None = None, grace: float = 0.0) -> Any:
    """Return the final value of a body: the items of an iterator, the value of a coroutine.

    A body may return a coroutine without being an `async def`: a lambda, or a wrapper.
    """
    return _run_coroutine(value, context, grace) if type(value) in _AWAITED else _listed(value)


def awaitable(value: Any) -> Any:
    """Return an awaitable of the final value: an asynchronous generator becomes a list of its items."""
    return _collected(value) if type(value) is AsyncGeneratorType else value


def _run_in_thread(tool: Runnable, arguments: dict[str, Any], context: Context) -> Any:
    from tools_core.threads import in_thread  # 10 ms, with concurrent.futures

    future = in_thread(lambda: finish(tool.execute(**arguments), context))
    return _wait(future, context, _grace(tool))


def _run_coroutine(value: Any, context: Context | None, grace: float = 0.0) -> Any:
    from tools_core.threads import replace_blocked_loop, run_coroutine, start_coroutine  # see _run_in_thread

    coroutine = _limited(value, context, grace)
    if context is None:
        return run_coroutine(coroutine)
    try:
        return _wait(start_coroutine(coroutine), context, grace + _CANCEL_GRACE)
    except Stopped as stopped:
        if stopped.is_abandoned:
            replace_blocked_loop()
        raise


class _Limit:
    """The limit of a coroutine, which moves while the user is asked."""

    def __init__(self, loop: AbstractEventLoop, timeout: Timeout, context: Context, grace: float) -> None:
        self.loop = loop
        self.timeout = timeout
        self._context = context
        self._grace = grace
        self._timer: TimerHandle | None = None

    def check(self) -> None:
        """End the body if its limit has passed, else check again when it has."""
        left = _limit(self._context)
        if left:
            self._timer = self.loop.call_later(left, self.check)
        elif left is not None:
            self.end_in(self._grace)

    def end_in(self, seconds: float) -> None:
        """Cancel the body after a number of seconds."""
        end = self.loop.time() + seconds
        with suppress(RuntimeError):  # the body has just ended
            self.timeout.reschedule(min(end, self.timeout.when() or end))

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()


async def _limited(value: Any, context: Context | None, grace: float, *, in_thread: bool = False) -> Any:
    """Await a body, and cancel it when its limit has passed or the caller cancels, after the grace."""
    import asyncio  # 29 ms

    if context is None:
        return await awaitable(value)
    limit = _Limit(asyncio.get_running_loop(), asyncio.timeout(None), context, grace)
    stop = partial(limit.end_in, max(grace, _CANCEL_GRACE) if in_thread else grace)
    try:
        async with limit.timeout:
            limit.check()
            unregister = context.on_cancel(lambda: limit.loop.call_soon_threadsafe(stop))
            try:
                return await awaitable(value)
            finally:
                unregister()
                limit.close()
    except TimeoutError:
        if not limit.timeout.expired():  # the tool raised it
            raise
        stopped = Stopped(context, is_abandoned=in_thread)
        context.cancel()
        raise stopped from None
    except asyncio.CancelledError:
        context.cancel()
        raise


def _wait(future: Any, context: Context, grace: float) -> Any:
    """Return the result of a future; Stopped if it is not done after the limit, or a cancellation, and the grace."""
    from concurrent.futures import wait  # the future has loaded it

    is_over = Event()
    future.add_done_callback(lambda _: is_over.set())
    unregister = context.on_cancel(is_over.set)
    try:
        while not (is_in_time := is_over.wait(_limit(context))) and context.remaining:
            pass  # the user was asked meanwhile
        if not is_in_time or context.cancelled:
            wait((future,), max(grace, _CANCEL_GRACE) if context.cancelled else grace)
        if future.done():
            return future.result()
        stopped = Stopped(context, is_abandoned=True)
        context.cancel()
        raise stopped
    except (KeyboardInterrupt, SystemExit):  # of this thread, if the future is not done
        if not future.done():
            context.cancel()
        raise
    finally:
        unregister()
        future.cancel()  # without effect for a thread, or if it is done


def _limit(context: Context) -> float | None:
    return context.remaining if context.enforced else None


def _grace(tool: Runnable) -> float:
    return _MANAGED_GRACE if tool.manages_timeout else 0.0


def _listed(value: Any) -> Any:
    return list(value) if hasattr(type(value), "__next__") else value


async def _collected(values: AsyncGeneratorType[Any, Any]) -> list[Any]:
    return [value async for value in values]
