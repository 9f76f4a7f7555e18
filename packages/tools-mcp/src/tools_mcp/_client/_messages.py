"""The messages of a server: what the SDK would refuse is repaired, or left out."""

from __future__ import annotations

import asyncio
import json
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
    jsonrpc_message_adapter,
)
from mcp_types.methods import validate_server_result
from pydantic import ValidationError

from tools_core.text import sendable

_PROBE_LIMIT = 2.0  # seconds; many servers ignore `server/discover`
_PROBE = "server/discover"
_MAX_SHOWN = 2_000  # characters of a part that cannot be read


@dataclass
class Connection:
    """Details about a connection, for errors."""

    over: asyncio.Event = field(default_factory=asyncio.Event)  # the server has disconnected
    log: str = ""  # the end of its standard error
    noise: str = ""
    status: str = ""  # of its last HTTP response, if that is an error
    session_refused: bool = False
    invalid_tools: dict[str, str] = field(default_factory=dict)  # with the reasons


def watched(incoming: Any, outgoing: Any, connection: Connection) -> tuple[_Incoming, _Outgoing]:
    """Return the streams of a transport, whose messages are repaired."""
    methods: dict[Any, str] = {}
    return _Incoming(incoming, connection, methods), _Outgoing(outgoing, methods)


class _Outgoing(ObjectSendStream[SessionMessage]):
    """The messages to a server; remembers the methods of requests by their ids."""

    def __init__(self, stream: Any, methods: dict[Any, str]) -> None:
        self._stream, self._methods = stream, methods

    async def send(self, item: SessionMessage) -> None:
        """Send a message."""
        if isinstance(item.message, JSONRPCRequest):
            self._methods[item.message.id] = item.message.method
        await self._stream.send(item)

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()


class _Incoming(ObjectReceiveStream[SessionMessage | Exception]):
    """The messages of a server. Silence at the first request is an answer: the server does not know it."""

    def __init__(self, stream: Any, connection: Connection, methods: dict[Any, str]) -> None:
        self._stream, self._connection, self._methods = stream, connection, methods
        self._is_probing = True

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
            method = self._methods.pop(message.message.id, "")
            if isinstance(message.message, JSONRPCResponse):
                self._repair(method, message.message.result)
        return message

    async def _next(self) -> SessionMessage | Exception:
        with anyio.move_on_after(_PROBE_LIMIT if self._is_probing else math.inf):
            message = _readable(await self._stream.receive())
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
        if method == "tools/list" and isinstance(result.get("tools"), list):
            result["tools"] = [tool for tool in result["tools"] if self._is_valid(tool, result)]
        elif method == "tools/call" and result.get("resultType", "complete") == "complete":
            _repair_result(result)

    def _is_valid(self, tool: Any, listing: dict[str, Any]) -> bool:
        try:
            validate_server_result("tools/list", _version(listing), {**listing, "tools": [tool]})
        except ValidationError as error:
            name = tool.get("name") if isinstance(tool, dict) else tool
            self._connection.invalid_tools[str(name)] = invalid(error)
            return False
        return True

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()


def _readable(message: SessionMessage | Exception) -> SessionMessage | Exception:
    """Return a message that the SDK could not read, if Python can: one with half of a character in a text."""
    if not isinstance(message, ValidationError):
        return message
    line = message.errors(include_url=False)[0].get("input")
    try:
        data = json.loads(line) if isinstance(line, str) else None
        return SessionMessage(jsonrpc_message_adapter.validate_json(sendable(json.dumps(data, ensure_ascii=False))))
    except (ValueError, RecursionError):
        return message


def _repair_result(result: dict[str, Any]) -> None:
    """Make a result of a call acceptable: the call has had its effect, so its readable parts remain."""
    content, others = result.get("content"), {key: result[key] for key in ("resultType",) if key in result}
    parts = content if isinstance(content, list) else [] if content is None else [content]
    result["content"] = [part if _is_part(part, result) else _described(part) for part in parts]
    if not isinstance(result.get("isError", False), bool):
        result["isError"] = str(result["isError"]).lower() not in ("false", "0", "none", "")
    for key in ("structuredContent", "_meta"):
        part = {**others, "content": [], key: result.get(key)}
        if key in result and not _is_result(part, _version(result)):
            if key == "structuredContent" and result[key] is not None:
                result["content"].append({"type": "text", "text": json.dumps(result[key], ensure_ascii=False)})
            del result[key]


def _is_part(part: Any, result: dict[str, Any]) -> bool:
    others = {key: result[key] for key in ("resultType",) if key in result}
    return isinstance(part, dict) and _is_result({**others, "content": [part]}, _version(result))


def _is_result(result: dict[str, Any], version: str) -> bool:
    try:
        validate_server_result("tools/call", version, result)
    except ValidationError:
        return False
    return True


def _described(part: Any) -> dict[str, Any]:
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    text = part if isinstance(part, str) else json.dumps(part, ensure_ascii=False)
    cut = text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}… ({len(text):,} characters)"
    return {"type": "text", "text": cut if isinstance(part, str) else f"[a part that cannot be read: {cut}]"}


def _version(result: dict[str, Any]) -> str:
    return "2026-07-28" if "resultType" in result else "2025-11-25"


def invalid(error: ValidationError) -> str:
    """Return the first problem of a message that does not have the form of the protocol."""
    first = error.errors(include_url=False, include_input=False)[0]
    return f"invalid message: {'.'.join(map(str, first['loc']))}: {first['msg']}"
