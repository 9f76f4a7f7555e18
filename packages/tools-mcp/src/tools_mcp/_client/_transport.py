"""The SDK's transports to a server, with limits, and with details for errors."""

from __future__ import annotations

import asyncio
import json
import math
import os
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

import httpx2
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from tools_mcp._client._messages import Connection, watched
from tools_mcp._client._repairs import repair_body, repair_line

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator

    from mcp.client import Transport

    from tools_mcp._client._address import Address

MESSAGE_LIMIT = 16 * 2**20  # bytes of one message over HTTP
_MAX_ERROR_TEXT = 500  # characters of the text of an HTTP error
_TAIL = 2_000  # bytes of standard error that an error shows
_NO_SERVER = "; is this the URL of a server with streamable HTTP? One with SSE alone cannot be used"
_HINTS = {
    401: "; it wants a token in `headers`, or a login (`ask-tools mcp add URL --login`)",
    404: _NO_SERVER,
    405: _NO_SERVER,
}
# Variables for the network of a company, in addition to the variables that the SDK passes.
_NETWORK = (
    *("ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "NODE_USE_ENV_PROXY"),
    *("CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE"),
)
_TIMEOUT = httpx2.Timeout(30.0, read=300.0)  # as the SDK's; the toolset limits calls


def open_transport(address: Address, connection: Connection, auth: httpx2.Auth | None) -> Transport:
    """Return the transport to a server."""
    return connect(address, connection, auth) if "url" in address else run_program(address, connection)


@asynccontextmanager
async def run_program(address: Address, connection: Connection) -> AsyncGenerator[Any]:
    """Run a server as a child process; one that does not end with its input is killed, with its children."""
    cwd = os.path.expanduser(address.get("cwd", "."))  # noqa: ASYNC240  (reads no file)
    network = {name: value for name, value in os.environ.items() if name.upper() in _NETWORK}
    program = StdioServerParameters(
        command=address["command"], args=address["args"], env=network | address.get("env", {}), cwd=cwd,
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
            connection.status, connection.has_session = "", "mcp-session-id" in response.request.headers
            text = "" if _is_stream(response) else await _repair(response)
            if response.is_error:
                text = " ".join(text.split())
                excerpt = f": {text[:_MAX_ERROR_TEXT]}{'…' * (len(text) > _MAX_ERROR_TEXT)}" if text else ""
                hint = "" if auth else _HINTS.get(response.status_code, "")
                # The protocol has 404 for a session that has ended; many servers answer 400.
                if response.status_code in (400, 404) and connection.has_session:
                    connection.session_refused, hint = True, ""
                connection.status = f"HTTP status {response.status_code} {response.reason_phrase}{excerpt}{hint}"

    # The limit counts received bytes, so a compressed answer could fill the memory.
    headers = {"accept-encoding": "identity", **address.get("headers", {})}
    client = httpx2.AsyncClient(headers=headers, timeout=_TIMEOUT, auth=auth, event_hooks={"response": [watch]})
    streamed = streamable_http_client(address["url"], http_client=client, max_sse_event_size=MESSAGE_LIMIT)
    async with client, streamed as (incoming, outgoing):
        yield watched(incoming, outgoing, connection)


def _is_stream(response: httpx2.Response) -> bool:
    return response.headers.get("content-type", "").startswith("text/event-stream")


async def _repair(response: httpx2.Response) -> str:
    """Repair the body of a response, whatever its media type says; return a body that is no message as text."""
    stream = cast("httpx2.AsyncByteStream", response.stream)
    try:
        body = b"".join([chunk async for chunk in stream])  # as it is received
    finally:
        await stream.aclose()  # else its connection is not used again
    response.stream = httpx2.ByteStream(body)
    try:
        body = repair_body(body, response.request.content)
    except (ValueError, RecursionError, httpx2.RequestNotRead):  # the last after a redirect
        text = body.decode("utf-8", "replace")
        return text if response.headers.get("content-type", "").startswith(("text/plain", "application/")) else ""
    response.headers["content-type"] = "application/json"
    response.headers["content-length"] = str(len(body))
    response.stream = httpx2.ByteStream(body)
    return ""


async def _repaired(chunks: AsyncIterable[bytes], request: bytes) -> AsyncIterator[bytes]:
    """Yield a stream by lines, with repaired messages; a line over the limit stays as it is, for the SDK to refuse."""
    line, size = [], 0
    async for chunk in chunks:
        first, *others = chunk.split(b"\n")
        line.append(first)
        size += len(first)
        for other in others:
            yield repair_line(b"".join(line), request) + b"\n"
            line, size = [other], len(other)
        if size > MESSAGE_LIMIT:
            yield b"".join(line)
            line, size = [], 0
    last = repair_line(b"".join(line), request)
    yield last
    with suppress(ValueError, RecursionError):
        json.loads(last.removeprefix(b"data:") or b"{}")
        yield b"\n\n"  # some servers do not end the last event


class _Limited(httpx2.AsyncByteStream):
    """The body of a response, up to the limit; compressed bodies are refused, and the SDK limits streams."""

    def __init__(self, response: httpx2.Response) -> None:
        self._stream = cast("httpx2.AsyncByteStream", response.stream)
        is_compressed = response.headers.get("content-encoding", "identity").lower() != "identity"
        self._request = b""
        if _is_stream(response):
            with suppress(httpx2.RequestNotRead):  # after a redirect
                self._request = response.request.content
        self._left = 0 if is_compressed else math.inf if _is_stream(response) else MESSAGE_LIMIT

    async def __aiter__(self) -> AsyncIterator[bytes]:
        chunks = _repaired(self._stream, self._request) if self._request else self._stream
        async for chunk in chunks:
            self._left -= len(chunk)
            if self._left < 0:
                limit = f"{MESSAGE_LIMIT >> 20} MiB"
                raise httpx2.StreamError(f"the message has more than {limit}, or is compressed")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
