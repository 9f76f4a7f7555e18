"""The connection to a terminal, which ends when its window is closed or a remote login is cut."""

from __future__ import annotations

import asyncio
import errno
import select
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

_INTERVAL = 0.5  # seconds between two looks
_GRACE = 5.0  # seconds for tasks to end


class Connection:
    """Notices that a terminal is gone, also if the process ignores SIGHUP: reading it may then wait forever.

    Attributes:
        is_lost: True after a hang-up, or after a failure of the output.
    """

    def __init__(self, descriptor: int) -> None:
        self.is_lost = False
        self._poll = select.poll()
        self._poll.register(descriptor, 0)  # a hang-up is always reported

    async def run(self, work: Coroutine[Any, Any, object]) -> None:
        """Run something until it ends, or until the terminal is gone: then raise OSError."""
        tasks = [asyncio.ensure_future(work), asyncio.ensure_future(self._watch())]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        is_done = tasks[0].done()
        for task in tasks:
            task.cancel()
        with suppress(asyncio.CancelledError, EOFError, OSError):  # the input or the output has failed
            if is_done and not self.is_lost:
                tasks[0].result()
                return
        self.is_lost = True
        await asyncio.wait(tasks, timeout=_GRACE)
        raise OSError(errno.EIO, "the terminal is gone")

    async def end(self, tasks: set[asyncio.Task[None]]) -> None:
        """Wait for tasks; not forever without a terminal."""
        while tasks:
            _, pending = await asyncio.wait(tasks, timeout=_GRACE if self.is_lost else None)
            if pending:
                return

    async def _watch(self) -> None:
        while not self.is_lost:
            await asyncio.sleep(_INTERVAL)
            self.is_lost |= any(event & (select.POLLHUP | select.POLLERR) for _, event in self._poll.poll(0))
