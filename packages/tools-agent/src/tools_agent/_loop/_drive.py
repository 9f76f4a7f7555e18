"""Drivers of the loop: `drive` runs it in this thread, `adrive` in the running event loop.

The loop is one generator, so that it is written once. It yields events, which go to the caller, and a `Do` for
everything that takes time or is code of the user.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from concurrent.futures import CancelledError
from contextvars import ContextVar
from inspect import isawaitable
from typing import Any, NamedTuple, TypeAlias

from tools_core import Context
from tools_core.threads import run_coroutine

Steps: TypeAlias = Generator[Any, Any, Any]
calling_back: ContextVar[object] = ContextVar("calling_back", default=None)  # the run whose callback is running


class Do(NamedTuple):
    """Call a function and send its result to the loop; an awaitable is awaited first."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    blocks: bool = False  # it may block: in a worker thread, if there is an event loop


class Closed(BaseException):
    """Raised in the loop when the caller closes the stream."""


def drive(steps: Steps) -> Generator[Any]:
    """Run the loop in this thread, and yield its events."""
    value: Any = None
    error: BaseException | None = None
    is_closed = False
    while True:
        try:
            step = steps.send(value) if error is None else steps.throw(error)
        except (StopIteration, Closed):
            return
        value = error = None
        try:
            if isinstance(step, Do):
                value = step.function(*step.arguments)
                if isawaitable(value):
                    value = run_coroutine(_awaited(value))
            elif not is_closed:
                yield step
        except GeneratorExit:
            error, is_closed = Closed(), True
        except BaseException as raised:  # noqa: BLE001  (raised in the loop)
            error = raised


async def adrive(steps: Steps) -> AsyncGenerator[Any]:
    """Run the loop in this event loop, and yield its events."""
    value: Any = None
    error: BaseException | None = None
    is_closed = False
    while True:
        try:
            step = steps.send(value) if error is None else steps.throw(error)
        except (StopIteration, Closed):
            return
        value = error = None
        try:
            if isinstance(step, Do):
                function, arguments, blocks = step
                in_thread = blocks and not is_closed  # a closed run must end although its event loop may end, too
                value = await asyncio.to_thread(function, *arguments) if in_thread else function(*arguments)
                if isawaitable(value):
                    value = await value
            elif not is_closed:
                yield step
        except GeneratorExit:
            error, is_closed = Closed(), True
        except BaseException as raised:  # noqa: BLE001  (raised in the loop)
            error = raised


def call_back(run: object, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of the user; `calling_back` is the run meanwhile."""
    token = calling_back.set(run)
    try:
        value = function(*arguments)
    finally:
        calling_back.reset(token)
    return _called_back(run, value) if isawaitable(value) else value


async def _called_back(run: object, value: Awaitable[Any]) -> Any:
    token = calling_back.set(run)
    try:
        return await value
    finally:
        calling_back.reset(token)


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


def wait_for(value: Any, loop: asyncio.AbstractEventLoop | None, context: Context) -> Any:
    """Return a value, or the result of an awaitable in an event loop; called in another thread."""
    if not isawaitable(value):
        return value
    if loop is None:
        return run_coroutine(_awaited(value))
    future = asyncio.run_coroutine_threadsafe(_awaited(value), loop)
    unregister = context.on_cancel(future.cancel)
    try:
        return future.result()
    except CancelledError:
        return None
    finally:
        unregister()
