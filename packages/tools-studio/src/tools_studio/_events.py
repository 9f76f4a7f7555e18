"""`Hub`: tell open pages what has changed. `Numbers`: keep what a page has not shown."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import ASGIApp, Receive, Scope, Send

_PING = 20.0  # seconds; a write to a closed connection ends its stream
_MAX_EVENTS = 1000  # for pages that connect again


class Hub:
    """Sends events to all open pages, each over one connection.

    An event has a number and a topic, such as `call:7`. A page fetches the parts again that show the topic, if they are
    older than the event.
    """

    def __init__(self) -> None:
        self.number = 0  # of the latest event
        self._loop: asyncio.AbstractEventLoop | None = None
        self._events: deque[tuple[int, str]] = deque(maxlen=_MAX_EVENTS)
        self._queues: set[asyncio.Queue[tuple[int, str] | None]] = set()

    @property
    def has_listeners(self) -> bool:
        """Return whether a page is open."""
        return bool(self._queues)

    def open(self) -> None:
        """Begin to send events. Call in the event loop."""
        self._loop = asyncio.get_running_loop()

    def close(self) -> None:
        """End all connections."""
        for queue in self._queues:
            queue.put_nowait(None)

    def publish(self, topic: str) -> None:
        """Send an event to all open pages; from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._send, topic)

    async def stream(self, after: int) -> AsyncIterator[str]:
        """Yield the events after a number for one page, in the format of server-sent events."""
        queue: asyncio.Queue[tuple[int, str] | None] = asyncio.Queue()
        for event in self._events:
            if event[0] > after:
                queue.put_nowait(event)
        self._queues.add(queue)
        try:
            yield "retry: 1000\n\n"
            while True:
                try:
                    next_event = await asyncio.wait_for(queue.get(), _PING)
                except TimeoutError:
                    yield ": ping\n\n"
                    continue
                if next_event is None:
                    return
                number, text = next_event
                yield f"id: {number}\ndata: {text}\n\n"
        finally:
            self._queues.discard(queue)

    def _send(self, topic: str) -> None:
        self.number += 1
        event = self.number, json.dumps({"number": self.number, "topic": topic})
        self._events.append(event)
        for queue in self._queues:
            queue.put_nowait(event)


class Numbers:
    """Middleware that gives each request the number of the latest event before it, as `request.state.number`.

    A page that is made from then on shows this event. It may show later ones or not, so they reach it as events.
    """

    def __init__(self, app: ASGIApp, *, hub: Hub) -> None:
        self._app, self._hub = app, hub

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with the number."""
        scope.setdefault("state", {})["number"] = self._hub.number
        await self._app(scope, receive, send)
