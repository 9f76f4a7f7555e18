"""A thread whose event loop runs all sessions of this process, so that any thread or loop can use them."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from concurrent.futures import Future

    T = TypeVar("T")

_lock = threading.Lock()
_loops: dict[int, asyncio.AbstractEventLoop] = {}  # by PID: a fork does not have its parent's threads


def submit(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Run a coroutine in the background; cancelling the future cancels it."""
    with _lock:
        loop = _loops.get(os.getpid())
        if loop is None:
            loop = _loops[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="tools-mcp", daemon=True).start()
    return asyncio.run_coroutine_threadsafe(coroutine, loop)


@atexit.register
def _end_sessions() -> None:
    if os.getpid() in _loops:
        submit(_cancel_tasks()).result()


async def _cancel_tasks() -> None:
    """Cancel the tasks of all sessions, which end their servers."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=10)
