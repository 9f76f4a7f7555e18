"""The thread whose event loop has all sessions of this process: a server is used from any thread or loop."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from concurrent.futures import Future

    T = TypeVar("T")

_EXIT_LIMIT = 10.0  # seconds; a server that does not end by itself is killed after 4
_lock = threading.Lock()
_loops: dict[int, asyncio.AbstractEventLoop] = {}  # by process: a fork has none of its parent's threads


def submit(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Run a coroutine in the background; to cancel the future cancels it."""
    with _lock:
        loop = _loops.get(os.getpid())
        if loop is None:
            loop = _loops[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="tools-mcp", daemon=True).start()
    return asyncio.run_coroutine_threadsafe(coroutine, loop)


@atexit.register
def _end_sessions() -> None:
    """Cancel the tasks of all sessions, which end their servers."""
    if os.getpid() in _loops:
        with suppress(TimeoutError):
            submit(_cancel_all()).result(_EXIT_LIMIT)


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
