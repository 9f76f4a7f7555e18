"""The SDK's transports to a server, with limits, and with details for errors."""

from __future__ import annotations

import asyncio
import math
import os
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import httpx2
from anyio.abc import ObjectReceiveStream
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse
from mcp_types.methods import validate_server_result
from pydantic import ValidationError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from mcp.client import Transport

    from tools_mcp._client._address import Address

MESSAGE_LIMIT = 16 * 2**20  # bytes of one message over HTTP
_TAIL = 2_000  # bytes of standard error that an error shows
_TIMEOUT = httpx2.Timeout(30.0, read=300.0)  # as the SDK's; the toolset limits calls


@dataclass
class Connection:
    """Details about a connection, for errors."""

    over: asyncio.Event = field(default_factory=asyncio.Event)  # the server has disconnected
    log: str = ""  # the end of its standard error
    noise: str = ""
    status: str = ""  # of its last HTTP response, if that is an error
    session_refused: bool = False
    invalid_tools: dict[str, str] = field(default_factory=dict)  # with the reasons


def open_transport(address: Address, connection: Connection, auth: httpx2.Auth | None) -> Transport:
    """Return the transport to a server."""
    return connect(address, connection, auth) if "url" in address else run_program(address, connection)


@asynccontextmanager
async def run_program(address: Address, connection: Connection) -> AsyncGenerator[Any]:
    """Run a server as a child process, which ends with its children."""
    cwd = os.path.expanduser(address.get("cwd", "."))  # noqa: ASYNC240  (reads no file)
    program = StdioServerParameters(command=address["command"], args=address["args"], env=address.get("env"), cwd=cwd)
    reading, writing = os.pipe()
    errors = asyncio.create_task(_read_errors(reading, connection))
    try:
        with open(writing, "w") as log:  # noqa: ASYNC230  (a pipe)
            async with stdio_client(program, errlog=log) as (incoming, outgoing):
                log.close()
                yield _Incoming(incoming, connection), outgoing
    finally:
        await asyncio.wait({errors}, timeout=0.5)  # a child process may hold it open
        errors.cancel()


async def _read_errors(descriptor: int, connection: Connection) -> None:
    loop = asyncio.get_running_loop()
    stream = asyncio.StreamReader()
    pipe = os.fdopen(descriptor, "rb", 0)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), pipe)
    tail = b""
    try:
        while chunk := await stream.read(2**16):
            tail = (tail + chunk)[-_TAIL:]
            connection.log = f"standard error: {tail.decode(errors='replace').strip()}"
    finally:
        transport.close()


@asynccontextmanager
async def connect(address: Address, connection: Connection, auth: httpx2.Auth | None = None) -> AsyncGenerator[Any]:
    """Connect to a URL."""

    async def watch(response: httpx2.Response) -> None:
        response.stream = _Limited(response)
        if response.request.method == "POST":
            connection.status = f"HTTP status {response.status_code} {response.reason_phrase}" * response.is_error
            # The protocol has 404 for a session that has ended; many servers answer 400.
            if response.status_code in (400, 404) and "mcp-session-id" in response.request.headers:
                connection.session_refused = True

    # The limit counts received bytes, so a compressed answer could fill the memory.
    headers = {"accept-encoding": "identity", **address.get("headers", {})}
    client = httpx2.AsyncClient(headers=headers, timeout=_TIMEOUT, auth=auth, event_hooks={"response": [watch]})
    streamed = streamable_http_client(address["url"], http_client=client, max_sse_event_size=MESSAGE_LIMIT)
    async with client, streamed as (incoming, outgoing):
        yield _Incoming(incoming, connection), outgoing


class _Incoming(ObjectReceiveStream[SessionMessage | Exception]):
    """The messages of a server. A tool that is invalid is taken out, because the SDK would reject the whole list."""

    def __init__(self, stream: Any, connection: Connection) -> None:
        self._stream = stream
        self._connection = connection

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message, or an error for an invalid line."""
        try:
            message: SessionMessage | Exception = await self._stream.receive()
        except BaseException:  # the end of the stream, or a failed transport that is being cancelled
            self._connection.over.set()
            raise
        if isinstance(message, Exception):
            self._connection.noise = "standard output contains lines that are not JSON-RPC messages"
        elif isinstance(message.message, JSONRPCResponse):
            result = message.message.result
            if isinstance(result.get("tools"), list):
                result["tools"] = [tool for tool in result["tools"] if self._is_valid(tool, result)]
        return message

    def _is_valid(self, tool: Any, listing: dict[str, Any]) -> bool:
        version = "2026-07-28" if "resultType" in listing else "2025-11-25"
        try:
            validate_server_result("tools/list", version, {**listing, "tools": [tool]})
        except ValidationError as error:
            name = tool.get("name") if isinstance(tool, dict) else tool
            self._connection.invalid_tools[str(name)] = invalid(error)
            return False
        return True

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()


def invalid(error: ValidationError) -> str:
    """Return the first problem of a message that does not have the form of the protocol."""
    first = error.errors(include_url=False, include_input=False)[0]
    return f"invalid message: {'.'.join(map(str, first['loc']))}: {first['msg']}"


class _Limited(httpx2.AsyncByteStream):
    """The body of a response, up to the limit; compressed bodies are refused, and the SDK limits streams."""

    def __init__(self, response: httpx2.Response) -> None:
        self._stream = cast("httpx2.AsyncByteStream", response.stream)
        is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
        self._left = 0 if "content-encoding" in response.headers else math.inf if is_stream else MESSAGE_LIMIT

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._left -= len(chunk)
            if self._left < 0:
                limit = f"{MESSAGE_LIMIT >> 20} MiB"
                raise httpx2.StreamError(f"the message has more than {limit}, or is compressed")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
