"""Sources: the pieces of a reply or the results of tool calls, together with events, in order of arrival.

An iterator runs in a worker thread or a task, so that an event reaches the loop while the iterator waits.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import suppress
from threading import Event, Semaphore
from typing import Any

from tools_core.threads import in_thread

END: Any = object()  # returned by `next` after the last item
WAKE: Any = object()  # an event that only wakes the loop
_CLOSE_GRACE = 2.0  # seconds for the iterator of tool calls to end


class _Item:
    __slots__ = ("error", "value")

    def __init__(self, value: Any, error: BaseException | None = None) -> None:
        self.value, self.error = value, error


class _Base:
    """The queue of both kinds of sources. An item stays in `_arrived` until `next` returns it, also after Ctrl-C."""

    def __init__(self) -> None:
        self._arrived: deque[Any] = deque()
        self._has_ended = self._is_requested = False

    def _take(self) -> Any:
        first = self._arrived[0]
        if isinstance(first, _Item):
            self._is_requested = False
            self._has_ended = first.error is not None or first.value is END
        del self._arrived[0]
        if not isinstance(first, _Item):
            return first
        if first.error is not None:
            raise first.error
        return first.value


class Source(_Base):
    """An iterator in a worker thread. It computes up to `ahead` items before they are requested."""

    def __init__(self, iterate: Callable[[], Iterator[Any]], ahead: int) -> None:
        super().__init__()
        self._iterate = iterate
        self._is_lazy = ahead == 0
        self._permits = Semaphore(ahead)
        self._has_arrived = Event()
        self._worker: Future[None] | None = None
        self._is_closed = False

    def put(self, event: Any) -> None:
        """Add an event; from any thread."""
        self._arrived.append(event)
        self._has_arrived.set()

    def next(self) -> Any:
        """Return the next item or event; END after the last item."""
        if self._has_ended:
            return END
        if self._worker is None:
            self._worker = in_thread(self._work)
        if not self._is_requested:
            self._is_requested = True
            self._permits.release()
        while not self._arrived:
            self._has_arrived.wait()
            self._has_arrived.clear()
        return self._take()

    def _work(self) -> None:
        try:
            items: Any = iter(self._iterate())
            try:
                while self._permits.acquire() and not self._is_closed:
                    item = next(items, END)
                    self.put(_Item(item))
                    if item is END:
                        return
            finally:
                if hasattr(items, "close"):
                    items.close()
        except BaseException as error:  # noqa: BLE001  (raised in the loop)
            self.put(_Item(None, error))

    def close(self) -> None:
        """Stop the iterator. A request to a model that does not respond is abandoned."""
        self._is_closed = True
        self._permits.release()
        if self._worker is not None and self._is_lazy:
            wait([self._worker], timeout=_CLOSE_GRACE)


class DirectSource(_Base):
    """An iterator in the thread of the loop; events that arrive while it works come before its item."""

    def __init__(self, iterate: Callable[[], Iterator[Any]]) -> None:
        super().__init__()
        self._items: Any = iterate()

    def put(self, event: Any) -> None:
        """Add an event; from any thread."""
        self._arrived.append(event)

    def next(self) -> Any:
        """Return the next item or event; END after the last item."""
        if self._has_ended:
            return END
        if not self._arrived:
            try:
                self.put(_Item(next(self._items, END)))
            except Exception as error:  # noqa: BLE001  (raised after the events before it)
                self.put(_Item(None, error))
        return self._take()

    def close(self) -> None:
        """Stop the iterator."""
        self._items.close()


class AsyncSource(_Base):
    """An asynchronous iterator in a task."""

    def __init__(self, iterate: Callable[[], AsyncIterator[Any]], ahead: int) -> None:
        super().__init__()
        self._iterate = iterate
        self._loop = asyncio.get_running_loop()
        self._permits = asyncio.Semaphore(ahead)
        self._has_arrived = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def put(self, event: Any) -> None:
        """Add an event; from any thread."""
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._put, event)

    def _put(self, event: Any) -> None:
        self._arrived.append(event)
        self._has_arrived.set()

    async def next(self) -> Any:
        """Return the next item or event; END after the last item."""
        if self._has_ended:
            return END
        if self._task is None:
            self._task = self._loop.create_task(self._work())
        if not self._is_requested:
            self._is_requested = True
            self._permits.release()
        while not self._arrived:
            await self._has_arrived.wait()
            self._has_arrived.clear()
        return self._take()

    async def _work(self) -> None:
        try:
            items: Any = aiter(self._iterate())
            try:
                while await self._permits.acquire():
                    item = await anext(items, END)
                    self._put(_Item(item))
                    if item is END:
                        return
            finally:
                if hasattr(items, "aclose"):
                    await items.aclose()
        except asyncio.CancelledError:
            self._put(_Item(END))
            raise
        except Exception as error:  # noqa: BLE001  (raised in the loop)
            self._put(_Item(None, error))

    async def close(self) -> None:
        """Stop the iterator."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task})
