"""The messages of a server: what the SDK would refuse is repaired, or left out."""

from __future__ import annotations

import asyncio
import json
import logging
import math
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    METHOD_NOT_FOUND,
    ErrorData,
    JSONRPCError,
    JSONRPCRequest,
    JSONRPCResponse,
)
from pydantic import ValidationError

from tools_mcp._client._repairs import readable, repair_hello, repair_listing, repair_result

_log = logging.getLogger("tools_mcp.messages")  # at DEBUG: the server, `->` or `<-`, and the JSON of each message
_PROBE_LIMIT = 2.0  # seconds; many servers ignore `server/discover`
_PROBE = "server/discover"


@dataclass
class Connection:
    """The name of a server, and details about its connection for errors."""

    name: str = ""
    over: asyncio.Event = field(default_factory=asyncio.Event)  # the server has disconnected
    log: str = ""  # the end of its standard error
    noise: str = ""
    status: str = ""  # of its last HTTP response, if that is an error
    has_session: bool = False  # in the last request over HTTP
    session_refused: bool = False
    invalid_tools: dict[str, str] = field(default_factory=dict)  # with the reasons


def watched(incoming: Any, outgoing: Any, connection: Connection) -> tuple[_Incoming, _Outgoing]:
    """Return the streams of a transport, whose messages are repaired."""
    methods: dict[Any, str] = {}
    return _Incoming(incoming, connection, methods), _Outgoing(outgoing, connection, methods)


class _Outgoing(ObjectSendStream[SessionMessage]):
    """The messages to a server; remembers the methods of requests by their ids."""

    def __init__(self, stream: Any, connection: Connection, methods: dict[Any, str]) -> None:
        self._stream, self._connection, self._methods = stream, connection, methods

    async def send(self, item: SessionMessage) -> None:
        """Send a message."""
        if isinstance(item.message, JSONRPCRequest):
            self._methods[item.message.id] = item.message.method
        _record(self._connection.name, "->", item)
        await self._stream.send(item)

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()


class _Incoming(ObjectReceiveStream[SessionMessage | Exception]):
    """The messages of a server. Silence at the first request is an answer: the server does not know it."""

    def __init__(self, stream: Any, connection: Connection, methods: dict[Any, str]) -> None:
        self._stream, self._connection, self._methods = stream, connection, methods
        self._is_probing = True
        self._read: list[SessionMessage | Exception] = []  # the rest of a batch

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message, or an error for an invalid line."""
        try:
            message = await self._next()
        except BaseException:  # the end of the stream, or a failed transport that is being cancelled
            self._connection.over.set()
            raise
        if isinstance(message, Exception):
            self._connection.noise = "standard output contains lines that are not JSON-RPC messages"
        elif isinstance(message.message, JSONRPCResponse | JSONRPCError):
            if message.message.id is None and len(self._methods) == 1:  # which other request could it be?
                message.message.id = next(iter(self._methods))
            method = self._methods.pop(message.message.id, "")
            if isinstance(message.message, JSONRPCResponse):
                self._repair(method, message.message.result)
        return message

    async def _next(self) -> SessionMessage | Exception:
        with anyio.move_on_after(_PROBE_LIMIT if self._is_probing else math.inf):
            if not self._read:
                self._read = readable(await self._stream.receive(), self._methods)
            message = self._read.pop(0)
            _record(self._connection.name, "<-", message)
            if not isinstance(message, Exception) and not isinstance(message.message, JSONRPCRequest):
                self._is_probing = False
            return message
        self._is_probing = False
        probe = next((id for id, method in self._methods.items() if method == _PROBE), None)
        if probe is None:
            return await self._next()
        unknown = ErrorData(code=METHOD_NOT_FOUND, message=f"no answer within {_PROBE_LIMIT:g} s")
        return SessionMessage(JSONRPCError(jsonrpc="2.0", id=probe, error=unknown))

    def _repair(self, method: str, result: dict[str, Any]) -> None:
        if method == "initialize":
            repair_hello(result)
        elif method == "tools/list":
            self._connection.invalid_tools |= repair_listing(result)
        elif method == "tools/call" and result.get("resultType", "complete") == "complete":
            repair_result(result)

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()


def _record(name: str, direction: str, message: SessionMessage | Exception) -> None:
    """Log a message as it is sent or received."""
    if not _log.isEnabledFor(logging.DEBUG):
        return
    if isinstance(message, SessionMessage):
        data = message.message.model_dump(mode="json", by_alias=True, exclude_unset=True)
        text = json.dumps(data, ensure_ascii=False, default=str)
    else:
        text = str(_line(message) or message)
    _log.debug("%s %s %s", name, direction, text)


def _line(error: Exception) -> Any:
    """Return the line that the SDK could not read."""
    return error.errors(include_url=False)[0].get("input") if isinstance(error, ValidationError) else None
