"""The SDK's transport over HTTP, with a limit for one answer."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, cast

import httpx2
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from tools_mcp._client._process import MESSAGE_LIMIT

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from mcp.client._transport import TransportStreams

    from tools_mcp._client._address import Address


class HttpServer:
    """A server behind a URL."""

    def __init__(self) -> None:
        self._failure = ""

    @asynccontextmanager
    async def streams(self, server: Address) -> AsyncGenerator[TransportStreams]:
        """Carry messages between the server and a session."""
        client = create_mcp_http_client(dict(server.headers))
        client.event_hooks = {"response": [self._watch]}
        async with (
            client,
            streamable_http_client(server.url, http_client=client, max_sse_event_size=MESSAGE_LIMIT) as streams,
        ):
            yield streams

    def account(self, error: str) -> str:
        """Return what the server has answered in place of a message, or else the error."""
        return self._failure or error

    async def _watch(self, response: httpx2.Response) -> None:
        self._failure = f"it answered {response.status_code} {response.reason_phrase}" if response.is_error else ""
        if response.headers.get("content-type", "").startswith("application/json"):
            response.stream = _Limited(cast("httpx2.AsyncByteStream", response.stream))


class _Limited(httpx2.AsyncByteStream):
    """The body of a response, up to the limit."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > MESSAGE_LIMIT:
                raise httpx2.StreamError(f"it sent a message of more than {MESSAGE_LIMIT >> 20} MiB")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
