"""Waiting for tasks that must not be left behind."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

T = TypeVar("T")


async def wait_for_end(task: asyncio.Future[Any]) -> None:
    """Wait until a task has ended, also if this one is cancelled meanwhile; then raise the cancellation.

    The scopes of anyio, which web servers use, cancel a task again at each of its awaits.
    """
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        _ = task.cancelled() or task.exception()
        raise cancelled


async def result_of(task: asyncio.Task[T]) -> T:
    """Return the result of a task, which is cancelled once if this one is, and then ends in its own time."""
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError as error:
        task.cancel(*error.args)
        await wait_for_end(task)
        _ = task.cancelled() or task.exception()
        raise
    return task.result()


def task_of_thread() -> asyncio.Task[Any] | None:
    """Return the task that runs in this thread, if there is one."""
    return None if asyncio._get_running_loop() is None else asyncio.current_task()
