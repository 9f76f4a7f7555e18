"""The thread whose event loop owns all connections of this process: a server is used from any thread or loop."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from concurrent.futures import Future

    T = TypeVar("T")

_lock = threading.Lock()
_loops: dict[int, asyncio.AbstractEventLoop] = {}  # by process: a fork has none of its parent's threads
_closing: dict[object, Callable[[], Coroutine[Any, Any, None]]] = {}


def submit(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Run a coroutine in the background; to cancel the future cancels it."""
    return asyncio.run_coroutine_threadsafe(coroutine, _loop())


def close_at_exit(key: object, close: Callable[[], Coroutine[Any, Any, None]] | None) -> None:
    """Close a connection before the process ends; None if that has happened."""
    if close is None:
        _closing.pop(key, None)
    else:
        _closing[key] = close


def _loop() -> asyncio.AbstractEventLoop:
    with _lock:
        loop = _loops.get(os.getpid())
        if loop is None:
            _loops.clear()
            _closing.clear()
            loop = _loops[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="tools-mcp", daemon=True).start()
        return loop


async def _close_all() -> None:
    await asyncio.gather(*(close() for close in list(_closing.values())), return_exceptions=True)


@atexit.register
def _at_exit() -> None:
    if _closing and os.getpid() in _loops:
        with suppress(TimeoutError):
            submit(_close_all()).result(_EXIT_LIMIT)


_EXIT_LIMIT = 8.0  # seconds; closing a server that does not end by itself takes half of it
