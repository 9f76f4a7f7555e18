"""Run the body of a tool, from synchronous code or from a coroutine, within its limit."""

from __future__ import annotations

from contextlib import suppress
from types import AsyncGeneratorType, CoroutineType
from typing import TYPE_CHECKING, Any

from tools_core._execution._outcome import Stopped

if TYPE_CHECKING:
    from concurrent.futures import Future

    from tools_core._execution._prepare import Callee
    from tools_core._values._context import Context

_GRACE = 0.35  # seconds for a coroutine to end when it was cancelled
_MARGIN = 5.0  # seconds for a tool that manages its time to end by itself, so that its own result arrives
_AWAITED = frozenset({CoroutineType, AsyncGeneratorType})
_FINISHED = frozenset({str, int, float, bool, type(None), dict, list})


def run(tool: Callee, arguments: dict[str, Any], context: Context | None) -> Any:
    """Run the body from synchronous code: here when there is no limit, else in a thread that can be abandoned."""
    spec = tool._spec
    if context is None and not spec.is_async:  # at once, for the commonest kind
        value = tool.execute(**arguments)
        return value if type(value) in _FINISHED else finish(value)
    limit, grace = _limit_of(context), _MARGIN if tool.manages_timeout else 0.0
    if spec.is_async:
        return _run_coroutine(tool.execute(**arguments), context, limit, grace)
    if context is None or limit is None:
        return finish(tool.execute(**arguments), context)
    from tools_core.threads import in_thread, unwrap  # only for limits

    future = in_thread(lambda: finish(tool.execute(**arguments), context), is_waited_for=True)
    try:
        is_done = _wait(future, context, limit, grace)
    except BaseException:  # the caller was interrupted while it waited
        context.cancel()
        raise
    if not is_done:
        stopped = Stopped(context, limit, is_abandoned=True)
        context.cancel()
        raise stopped
    return unwrap(future.result())


async def arun(tool: Callee, arguments: dict[str, Any], context: Context | None) -> Any:
    """Run the body from a coroutine: an `async def` here, anything else in a worker thread."""
    if context is None and tool._spec.is_async:  # at once, for the commonest kind
        return await awaitable(tool.execute(**arguments))
    import asyncio  # loaded already: a coroutine awaits us

    from tools_core.threads import in_thread, unwrap  # threads only where a tool is synchronous

    limit, grace = _limit_of(context), _MARGIN if tool.manages_timeout else 0.0
    if tool._spec.is_async:
        return await _limited(tool.execute(**arguments), context, limit, grace)
    future = asyncio.wrap_future(in_thread(lambda: _listed(tool.execute(**arguments))))
    # The thread goes on when the wait ends.
    value = unwrap(await _limited(asyncio.shield(future), context, limit, grace, is_abandoned=True))
    return await _limited(value, context, _limit_of(context), grace) if type(value) in _AWAITED else value


def _run_coroutine(coroutine: Any, context: Context | None, limit: float | None = None, grace: float = 0.0) -> Any:
    """Run a coroutine that is cancelled at its limit, and abandon it if it does not end for that."""
    from tools_core.threads import leave_blocked_loop, start_coroutine  # only for coroutines

    future = start_coroutine(_limited(coroutine, context, limit, grace))
    try:
        if context is None or _wait(future, context, limit, grace + _GRACE):
            return future.result()
    except BaseException:
        future.cancel()  # where the wait was interrupted; else it has ended
        raise
    stopped = Stopped(context, limit, is_abandoned=True)
    if not future.cancel():  # it has ended this moment
        return future.result()
    context.cancel()
    leave_blocked_loop()
    raise stopped


def _wait(future: Future[Any], context: Context, limit: float | None, grace: float) -> bool:
    """Wait for a future until the limit or a cancellation, then for the grace; return whether it is done."""
    from concurrent.futures import wait  # loaded already: it made the future
    from threading import Event

    is_over = Event()
    future.add_done_callback(lambda _: is_over.set())
    unregister = context.on_cancel(is_over.set)
    try:
        is_over.wait(limit)
    finally:
        unregister()
    if not future.done() and grace:
        wait((future,), grace)
    return future.done()


def _limit_of(context: Context | None) -> float | None:
    return None if context is None or not context.enforced else context.remaining


def finish(value: Any, context: Context | None = None) -> Any:
    """Return the outcome of an unfinished value: the items of an iterator, the value of a coroutine.

    A body may return a coroutine without being an `async def`: a lambda, or a wrapper around one.
    """
    if type(value) in _AWAITED:
        return _run_coroutine(value, context)
    return _listed(value)


def _listed(value: Any) -> Any:
    return list(value) if hasattr(type(value), "__next__") else value


async def _limited(
    value: Any, context: Context | None, limit: float | None, grace: float = 0.0, *, is_abandoned: bool = False
) -> Any:
    """Await a body; cancel it when the limit has passed, or its caller has cancelled, and then the grace."""
    import asyncio  # loaded already: this runs in its loop

    awaited = awaitable(value)
    if context is None:
        return await awaited
    loop, watch = asyncio.get_running_loop(), asyncio.timeout(None if limit is None else limit + grace)

    def cancelled() -> None:
        until = loop.time() + grace
        with suppress(RuntimeError):  # the body has ended this moment
            watch.reschedule(min(until, watch.when() or until))

    try:
        async with watch:
            unregister = context.on_cancel(lambda: loop.call_soon_threadsafe(cancelled))
            try:
                return await awaited
            finally:
                unregister()
    except TimeoutError:
        if not watch.expired():  # the tool's own
            raise
        stopped = Stopped(context, limit, is_abandoned=is_abandoned)
        context.cancel()
        raise stopped from None
    except asyncio.CancelledError:
        context.cancel()
        raise


def awaitable(value: Any) -> Any:
    """Return an awaitable of the outcome: an asynchronous generator gives the list of its items."""
    return _collected(value) if type(value) is AsyncGeneratorType else value


async def _collected(values: AsyncGeneratorType[Any, Any]) -> list[Any]:
    return [value async for value in values]
