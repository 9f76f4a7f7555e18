"""Limits for hostile and forgetful HTTP clients: connections, idle sessions, and the values of a request."""

from __future__ import annotations

import resource
from collections import Counter
from typing import TYPE_CHECKING, Any

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from uvicorn.protocols.http.auto import AutoHTTPProtocol

if TYPE_CHECKING:
    import asyncio

    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_MAX_VALUES = 50_000  # in a request: each takes memory and time, several times
_MAX_IDLE_SESSIONS = 200  # of some 30 KB
_REQUEST_LIMIT = 30.0  # seconds for the headers and the body of a request, up to twice that
_SESSION = "mcp-session-id"
_LARGE = 64_000  # bytes of a message, which the SDK keeps until the next message of the session
_NOTIFICATION = b'{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}'

_HTTPProtocol: Any = AutoHTTPProtocol  # the class that uvicorn has chosen


class LimitedProtocol(_HTTPProtocol):  # type: ignore[misc]
    """A connection that is closed if its client sends no whole request in time, or if there are too many.

    uvicorn limits the time between requests only.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Close a waiting connection if this exceeds the limit."""
        super().connection_made(transport)
        # Half of the descriptors remain for tools.
        if len(self.connections) > min(resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2, 2_000):
            waiting = (other for other in self.connections if other is not self and _is_waiting(other))
            next(waiting, self).transport.close()
        self._check(self)

    def _check(self, last: object) -> None:
        if self.cycle is last and _is_waiting(self):
            self.transport.close()
        elif not self.transport.is_closing():
            self.loop.call_later(_REQUEST_LIMIT, self._check, self.cycle)


def _is_waiting(connection: Any) -> bool:
    """Return whether the client has to send more of a request."""
    cycle = connection.cycle
    is_unfinished = cycle is None or cycle.response_complete or cycle.more_body
    return is_unfinished and not connection.transport.is_closing()


class RequestLimits:
    """Middleware that refuses requests with too many values, and ends the longest idle session if there are too many.

    Its client receives a 404 for its next request, and initializes a new session.
    """

    def __init__(self, app: ASGIApp, manager: StreamableHTTPSessionManager) -> None:
        self._app = app
        self._manager = manager
        self._running: Counter[str] = Counter()  # the number of requests by session
        self._idle: dict[str, Scope] = {}  # the last requests of sessions, the oldest first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        body = _Body(receive)
        session: str | None = None  # of the response: a refusal has none

        async def watched(message: Message) -> None:
            nonlocal session
            if message["type"] == "http.response.start" and message["status"] < 400:
                session = Headers(raw=message["headers"]).get(_SESSION)
                if session is not None:
                    self._running[session] += 1
                    self._idle.pop(session, None)
            await send(message)

        try:
            await self._app(scope, body.receive if scope["type"] == "http" else receive, watched)
        finally:
            if session is not None:
                self._running[session] -= 1
                if not self._running[session]:
                    del self._running[session]
                    if scope["method"] != "DELETE":
                        await self._add_idle(session, scope, is_large=body.size > _LARGE)

    async def _add_idle(self, session: str, scope: Scope, *, is_large: bool) -> None:
        self._idle[session] = scope
        if is_large:
            await self._send(session, scope, "POST", _NOTIFICATION)
        if len(self._idle) > _MAX_IDLE_SESSIONS:
            oldest = next(iter(self._idle))
            await self._send(oldest, self._idle.pop(oldest), "DELETE")

    async def _send(self, session: str, scope: Scope, method: str, body: bytes = b"") -> None:
        """Send a request to a session for its client."""

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        async def ignore(_: Message) -> None:
            pass

        headers = [*scope["headers"], (_SESSION.encode(), session.encode())]
        await self._manager.handle_request({**scope, "method": method, "headers": headers}, receive, ignore)


class _Body:
    """A JSON body whose values are counted while it is received: by the commas outside strings."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._commas = 0
        self._is_in_string = False
        self._escape = b""  # which the next part completes
        self.size = 0

    async def receive(self) -> Message:
        """Return the next part; HTTPException if there are too many values."""
        message = await self._receive()
        part = message.get("body", b"")
        self.size += len(part)
        part = (self._escape + part).replace(rb"\\", b"").replace(rb"\"", b"")
        self._escape = b"\\" if part.endswith(b"\\") else b""
        pieces = part.split(b'"')
        self._commas += sum(piece.count(b",") for piece in pieces[self._is_in_string :: 2])
        self._is_in_string ^= len(pieces) % 2 == 0
        if self._commas > _MAX_VALUES:
            raise HTTPException(413, f"more than {_MAX_VALUES:,} values; send several requests")
        return message
