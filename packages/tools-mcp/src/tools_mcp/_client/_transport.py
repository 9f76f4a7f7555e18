"""The way to a server: a child process that writes messages as lines, or streamable HTTP."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, cast

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

    from anyio.abc import ByteReceiveStream, ByteSendStream
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client._transport import TransportStreams

    from tools_mcp._client._address import Address

_MESSAGE_LIMIT = 16 * 2**20  # bytes of one message
_TOO_LONG = f"it sent a message of more than {_MESSAGE_LIMIT >> 20} MiB"
_TAIL = 2_000  # bytes of standard error that an error shows
_GRACE = 2.0  # seconds to end after its input, and then after SIGTERM


@asynccontextmanager
async def run_program(
    address: Address, facts: dict[str, str], ended: asyncio.Event
) -> AsyncGenerator[TransportStreams]:
    """Run a server as a child process, which ends with its children. The SDK's transport has no limit for a message.

    `facts` receives what an error can report, and `ended` is set when the server closes its output.
    """
    environment = get_default_environment() | address.get("env", {})
    cwd = os.path.expanduser(address["cwd"]) if "cwd" in address else None  # noqa: ASYNC240  (reads no file)
    command = [address["command"], *address["args"]]
    async with (
        await anyio.open_process(command, env=environment, cwd=cwd, start_new_session=True) as process,
        anyio.create_task_group() as tasks,
    ):
        from_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, to_server = anyio.create_memory_object_stream[SessionMessage](0)
        program_input = cast("ByteSendStream", process.stdin)
        tasks.start_soon(_read, cast("ByteReceiveStream", process.stdout), from_server, facts, ended)
        tasks.start_soon(_read_errors, cast("ByteReceiveStream", process.stderr), facts)
        tasks.start_soon(_write, to_server, program_input)
        try:
            yield incoming, outgoing
        finally:
            has_ended = ended.is_set()
            with anyio.CancelScope(shield=True):
                await program_input.aclose()
                with anyio.move_on_after(_GRACE):
                    await process.wait()
                if has_ended and process.returncode is not None:
                    facts["exit"] = f"it ended with exit code {process.returncode}"
                await terminate_posix_process_tree(process, _GRACE)
            tasks.cancel_scope.cancel()


async def _read(
    output: ByteReceiveStream,
    stream: MemoryObjectSendStream[SessionMessage | Exception],
    facts: dict[str, str],
    ended: asyncio.Event,
) -> None:
    lines = BufferedByteReceiveStream(output)
    async with stream:
        try:
            while True:
                line = await lines.receive_until(b"\n", _MESSAGE_LIMIT)
                try:
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValidationError:  # such as a log that should have gone to standard error
                    facts["noise"] = f"it writes what is not JSON-RPC to standard output: {line[:100]!r}"
                else:
                    await stream.send(SessionMessage(message))
        except anyio.DelimiterNotFound:
            facts["size"] = _TOO_LONG
        except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass
        finally:
            ended.set()


async def _read_errors(errors: ByteReceiveStream, facts: dict[str, str]) -> None:
    tail = b""
    async for chunk in errors:
        tail = (tail + chunk)[-_TAIL:]
        facts["log"] = f"it reports: {tail.decode(errors='replace').strip()}"


async def _write(stream: MemoryObjectReceiveStream[SessionMessage], program_input: ByteSendStream) -> None:
    async with stream:
        with suppress(
            anyio.BrokenResourceError, anyio.ClosedResourceError, OSError
        ):  # the end of its output ends the session
            async for each in stream:
                await program_input.send(
                    f"{each.message.model_dump_json(by_alias=True, exclude_unset=True)}\n".encode()
                )


@asynccontextmanager
async def connect(address: Address, facts: dict[str, str], _: asyncio.Event) -> AsyncGenerator[TransportStreams]:
    """Connect to a URL by the SDK's transport, with the limit for a message that is not streamed, too."""

    async def watch(response: httpx2.Response) -> None:
        facts.pop("status", None)
        if response.is_error:
            facts["status"] = f"it answered {response.status_code} {response.reason_phrase}"
        if response.headers.get("content-type", "").startswith("application/json"):
            response.stream = _Limited(cast("httpx2.AsyncByteStream", response.stream))

    client = create_mcp_http_client(address.get("headers"))
    client.event_hooks = {"response": [watch]}
    streamed = streamable_http_client(address["url"], http_client=client, max_sse_event_size=_MESSAGE_LIMIT)
    async with client, streamed as streams:
        yield streams


class _Limited(httpx2.AsyncByteStream):
    """The body of a response, up to the limit."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > _MESSAGE_LIMIT:
                raise httpx2.StreamError(_TOO_LONG)
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
