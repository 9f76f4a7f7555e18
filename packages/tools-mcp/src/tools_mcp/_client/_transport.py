"""The SDK's transports to a server, with limits, and with details for errors."""

from __future__ import annotations

import asyncio
import math
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import httpx2
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from tools_mcp._client._messages import Connection, watched

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from mcp.client import Transport

    from tools_mcp._client._address import Address

MESSAGE_LIMIT = 16 * 2**20  # bytes of one message over HTTP
_TAIL = 2_000  # bytes of standard error that an error shows
_TIMEOUT = httpx2.Timeout(30.0, read=300.0)  # as the SDK's; the toolset limits calls


def open_transport(address: Address, connection: Connection, auth: httpx2.Auth | None) -> Transport:
    """Return the transport to a server."""
    return connect(address, connection, auth) if "url" in address else run_program(address, connection)


@asynccontextmanager
async def run_program(address: Address, connection: Connection) -> AsyncGenerator[Any]:
    """Run a server as a child process, which ends with its children."""
    cwd = os.path.expanduser(address.get("cwd", "."))  # noqa: ASYNC240  (reads no file)
    program = StdioServerParameters(
        command=address["command"], args=address["args"], env=address.get("env"), cwd=cwd,
        encoding_error_handler="replace",  # a line in another encoding is noise, not the end
    )  # fmt: skip
    reading, writing = os.pipe()
    errors = asyncio.create_task(_read_errors(reading, connection))
    try:
        with open(writing, "w") as log:  # noqa: ASYNC230  (a pipe)
            async with stdio_client(program, errlog=log) as (incoming, outgoing):
                log.close()
                yield watched(incoming, outgoing, connection)
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
        yield watched(incoming, outgoing, connection)


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
