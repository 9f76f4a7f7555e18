"""`Hub`: tell open pages what has changed."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_PING = 20.0  # seconds; a write to a closed connection ends its stream


class Hub:
    """Sends events to all open pages, each over one connection.

    An event names a topic, such as `call:7`. A page fetches the parts again that show the topic. Text of a chat is part
    of the event, so that it appears without a request.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._queues: set[asyncio.Queue[str | None]] = set()

    @property
    def has_listeners(self) -> bool:
        """Return whether a page is open."""
        return bool(self._queues)

    def publish(self, topic: str, **data: Any) -> None:
        """Send an event to all open pages; from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._put, json.dumps({"topic": topic, **data}))

    def close(self) -> None:
        """End all connections."""
        self._put(None)

    async def stream(self) -> AsyncIterator[str]:
        """Yield the events for one page, in the format of server-sent events."""
        self._loop = asyncio.get_running_loop()
        queue: asyncio.Queue[str | None] = asyncio.Queue()
        self._queues.add(queue)
        try:
            yield "retry: 1000\n\n"
            while True:
                try:
                    event = await asyncio.wait_for(queue.get(), _PING)
                except TimeoutError:
                    yield ": ping\n\n"
                    continue
                if event is None:
                    return
                yield f"data: {event}\n\n"
        finally:
            self._queues.discard(queue)

    def _put(self, event: str | None) -> None:
        for queue in self._queues:
            queue.put_nowait(event)
