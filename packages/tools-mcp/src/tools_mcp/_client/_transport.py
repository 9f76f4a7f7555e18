"""Transports to a server: a child process that writes messages as lines, or streamable HTTP."""

from __future__ import annotations

import math
import os
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

import anyio
import httpx2
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncGenerator, AsyncIterator

    from anyio.streams.memory import MemoryObjectSendStream
    from mcp.client._transport import TransportStreams

    from tools_mcp._client._address import Address

_MESSAGE_LIMIT = 16 * 2**20  # bytes of one message
_TOO_LONG = f"it sent a message of more than {_MESSAGE_LIMIT >> 20} MiB"
_TAIL = 2_000  # bytes of standard error that an error shows
_GRACE = 2.0  # seconds to end after its input, and then after SIGTERM
_POLL = 0.5  # seconds
_CLOSED = (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError, anyio.ClosedResourceError, OSError)


@asynccontextmanager
async def run_program(address: Address, facts: dict[str, str], over: asyncio.Event) -> AsyncGenerator[TransportStreams]:
    """Run a server as a child process, which ends with its children. The SDK's transport does not limit messages.

    `facts` receives details for errors, and `over` is set when the server ends or closes its output.
    """
    environment = get_default_environment() | address.get("env", {})
    cwd = os.path.expanduser(address.get("cwd", "."))  # noqa: ASYNC240  (reads no file)
    command = [address["command"], *address["args"]]
    process = await anyio.open_process(command, env=environment, cwd=cwd, start_new_session=True)
    from_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_server = anyio.create_memory_object_stream[SessionMessage](0)

    async def watch() -> None:
        while process.returncode is None:  # noqa: ASYNC110  (`wait` waits for the end of its output, too)
            await anyio.sleep(_POLL)
        await anyio.sleep(_POLL)  # time for its last output
        over.set()  # a child process may hold its output open

    async def read_errors(errors: Any) -> None:
        tail = b""
        async for chunk in errors:
            tail = (tail + chunk)[-_TAIL:]
            facts["log"] = f"it reports: {tail.decode(errors='replace').strip()}"

    async def write(program_input: Any) -> None:
        with suppress(*_CLOSED):  # the end of its output ends the session
            async with to_server:
                async for each in to_server:
                    text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await program_input.send(f"{text}\n".encode())

    async with process, anyio.create_task_group() as tasks:
        tasks.start_soon(_read, process.stdout, from_server, facts, over)
        tasks.start_soon(watch)
        tasks.start_soon(read_errors, process.stderr)
        tasks.start_soon(write, process.stdin)
        try:
            yield incoming, outgoing
        finally:
            has_ended = over.is_set()
            with anyio.CancelScope(shield=True):
                await cast("anyio.abc.ByteSendStream", process.stdin).aclose()
                with anyio.move_on_after(_GRACE):
                    await process.wait()
                if has_ended and process.returncode is not None:
                    facts["exit"] = f"it ended with exit code {process.returncode}"
                await terminate_posix_process_tree(process, _GRACE)
            tasks.cancel_scope.cancel()


async def _read(
    output: Any, stream: MemoryObjectSendStream[SessionMessage | Exception], facts: dict[str, str], over: asyncio.Event
) -> None:
    lines = BufferedByteReceiveStream(output)
    try:
        async with stream:
            while True:
                line = await lines.receive_until(b"\n", _MESSAGE_LIMIT)
                try:
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValidationError:  # such as a log that belongs on standard error
                    facts["noise"] = f"it writes what is not JSON-RPC to standard output: {line[:100]!r}"
                else:
                    await stream.send(SessionMessage(message))
    except anyio.DelimiterNotFound:
        facts["size"] = _TOO_LONG
    except _CLOSED:
        pass
    over.set()


@asynccontextmanager
async def connect(address: Address, facts: dict[str, str], _: asyncio.Event) -> AsyncGenerator[TransportStreams]:
    """Connect to a URL by the SDK's transport, with the limit for messages that are not streamed, too."""

    async def watch(response: httpx2.Response) -> None:
        response.stream = _Limited(response)
        if response.request.method == "POST":
            facts.pop("status", None)
            if response.is_error:
                facts["status"] = f"it answered {response.status_code} {response.reason_phrase}"
            # The protocol has 404 for a session that has ended; many servers answer 400.
            if response.status_code in (400, 404) and "mcp-session-id" in response.request.headers:
                facts["refused"] = "it did not accept the session"

    # The limit counts received bytes, so a compressed answer could fill the memory.
    client = create_mcp_http_client({"accept-encoding": "identity", **address.get("headers", {})})
    client.event_hooks = {"response": [watch]}
    streamed = streamable_http_client(address["url"], http_client=client, max_sse_event_size=_MESSAGE_LIMIT)
    async with client, streamed as streams:
        yield streams


class _Limited(httpx2.AsyncByteStream):
    """The body of a response, up to the limit; compressed bodies are refused, and the SDK limits streams."""

    def __init__(self, response: httpx2.Response) -> None:
        self._stream = cast("httpx2.AsyncByteStream", response.stream)
        is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
        self._left = 0 if "content-encoding" in response.headers else math.inf if is_stream else _MESSAGE_LIMIT

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._left -= len(chunk)
            if self._left < 0:
                raise httpx2.StreamError(f"{_TOO_LONG}, or a compressed one")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
