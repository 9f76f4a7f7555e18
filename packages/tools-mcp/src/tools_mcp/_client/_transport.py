"""The way to a server: a child process that writes messages as lines, or streamable HTTP."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, cast

import anyio
import httpx2
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

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
    """Run a server as a child process; its children end with it. The SDK's transport has no limit for a message.

    `facts` receives what an error can tell of it, and `ended` is set when it closes its output.
    """
    process = await asyncio.create_subprocess_exec(
        address["command"],
        *address["args"],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=get_default_environment() | address.get("env", {}),
        cwd=os.path.expanduser(address["cwd"]) if "cwd" in address else None,  # noqa: ASYNC240  (reads no file)
        limit=_MESSAGE_LIMIT,
        start_new_session=True,  # so that its children can be ended with it
    )
    from_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_server = anyio.create_memory_object_stream[SessionMessage](0)
    program_input = cast("asyncio.StreamWriter", process.stdin)
    tasks = [
        asyncio.create_task(_read(cast("asyncio.StreamReader", process.stdout), from_server, facts, ended)),
        asyncio.create_task(_read_errors(cast("asyncio.StreamReader", process.stderr), facts)),
        asyncio.create_task(_write(to_server, program_input)),
    ]
    try:
        yield incoming, outgoing
    finally:
        with anyio.CancelScope(shield=True):
            program_input.close()
            await _has_exited(process)
            if ended.is_set() and process.returncode is not None:
                facts["exit"] = f"it ended with exit code {process.returncode}"
            for number in (signal.SIGTERM, signal.SIGKILL):  # for its children as well
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, number)
                await _has_exited(process)
            for task in tasks:
                task.cancel()
            process._transport.close()  # type: ignore[attr-defined]  # a child that left the group may hold the pipes


async def _has_exited(process: asyncio.subprocess.Process) -> None:
    """Wait for the program in bounds; `wait()` would wait for the pipes of its children, too."""
    with anyio.move_on_after(_GRACE):
        while process.returncode is None:  # noqa: ASYNC110  (nothing else reports it)
            await asyncio.sleep(0.01)


async def _read(
    lines: asyncio.StreamReader,
    stream: MemoryObjectSendStream[SessionMessage | Exception],
    facts: dict[str, str],
    ended: asyncio.Event,
) -> None:
    async with stream:
        try:
            while line := await lines.readline():
                try:
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValidationError:  # such as a log that should have gone to standard error
                    facts["noise"] = f"it writes what is not JSON-RPC to standard output: {line[:100]!r}"
                    await asyncio.sleep(0)
                else:
                    await stream.send(SessionMessage(message))
        except ValueError:  # of `readline`
            facts["size"] = _TOO_LONG
        except anyio.BrokenResourceError:
            pass  # the session has ended
        finally:
            ended.set()


async def _read_errors(errors: asyncio.StreamReader, facts: dict[str, str]) -> None:
    tail = b""
    while chunk := await errors.read(2**16):
        tail = (tail + chunk)[-_TAIL:]
        facts["log"] = f"it reports: {tail.decode(errors='replace').strip()}"


async def _write(stream: MemoryObjectReceiveStream[SessionMessage], program_input: asyncio.StreamWriter) -> None:
    async with stream:
        with suppress(OSError):  # it reads no more: the end of its output ends the session
            async for each in stream:
                text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                program_input.write(f"{text}\n".encode())
                await program_input.drain()


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
    async with (
        client,
        streamable_http_client(address["url"], http_client=client, max_sse_event_size=_MESSAGE_LIMIT) as streams,
    ):
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
