"""`ServerProcess`: a server as a child process that writes JSON-RPC messages as lines."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, cast

import anyio
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, jsonrpc_message_adapter
from pydantic import ValidationError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client._transport import TransportStreams

    from tools_mcp._client._address import Address

MESSAGE_LIMIT = 16 * 2**20  # bytes of one message
_MOST_NOTICES = 20_000  # without an answer between them
_TAIL = 2_000  # bytes of standard error that an error shows
_GRACE = 2.0  # seconds to end after its input, and then after SIGTERM


class ServerProcess:
    """The SDK's own transport has no limit for a message, and does not tell how the server has ended.

    `ended` is set when the server has closed its output.
    """

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self._tail = bytearray()
        self._failure = ""
        self._noise = ""
        self._code: int | None = None  # of a program that has ended by itself

    async def start(self, server: Address) -> None:
        """Start the program; OSError if that is not possible."""
        self._process = await asyncio.create_subprocess_exec(
            *server.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**get_default_environment(), **server.env},
            cwd=server.cwd,
            limit=MESSAGE_LIMIT,
            start_new_session=True,  # so that its children can be ended with it
        )
        self._input = cast("asyncio.StreamWriter", self._process.stdin)
        self._output = cast("asyncio.StreamReader", self._process.stdout)
        errors = cast("asyncio.StreamReader", self._process.stderr)
        self._pump = asyncio.create_task(self._read_errors(errors))

    @asynccontextmanager
    async def streams(self) -> AsyncGenerator[TransportStreams]:
        """Carry messages between the program and a session."""
        from_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, to_server = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, from_server)
            tasks.start_soon(self._write, to_server)
            try:
                yield incoming, outgoing
            finally:
                tasks.cancel_scope.cancel()

    async def stop(self) -> None:
        """End the program and all that it has started: by the end of its input, then by signals."""
        process = self._process
        if self.ended.is_set():
            await self.settle()
        self._input.close()
        if not await self._has_exited():
            self._kill(signal.SIGTERM)
            await self._has_exited()
        self._kill(signal.SIGKILL)  # also children that have outlived it
        await self._has_exited()
        self._pump.cancel()
        process._transport.close()  # type: ignore[attr-defined]  # a child that left the group may hold the pipes

    def account(self, error: str) -> str:
        """Return how the program has ended, or else the error, and the end of its standard error."""
        code = self._code
        if code is not None:
            error = f"it ended with exit code {code}" if code >= 0 else f"it was ended by signal {-code}"
        lines = self._tail.decode(errors="replace").strip()
        return "; ".join(filter(None, [self._failure or error, self._noise, lines and f"it reports: {lines}"]))

    async def settle(self) -> None:
        """Wait a moment for the exit code and the last lines of a program that has closed its output."""
        await asyncio.wait({asyncio.create_task(self._process.wait()), self._pump}, timeout=1.0)
        self._code = self._process.returncode

    async def _read(self, stream: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        async with stream:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                notices = 0
                while line := await self._line():
                    try:
                        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                    except ValidationError:  # such as a log that should have gone to standard error
                        self._noise = f"it writes what is not JSON-RPC to standard output: {line[:100]!r}"
                        await asyncio.sleep(0)
                        continue
                    notices = notices + 1 if isinstance(message, JSONRPCNotification) else 0
                    if notices == _MOST_NOTICES:
                        self._failure = f"it sent {notices:,} notifications without an answer"
                        break
                    await stream.send(SessionMessage(message))
        self.ended.set()

    async def _line(self) -> bytes:
        try:
            return await self._output.readline()
        except ValueError:
            self._failure = f"it sent a message of more than {MESSAGE_LIMIT >> 20} MiB"
            return b""

    async def _write(self, stream: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with stream:
            with suppress(OSError):  # it reads no more: that its output ends says so
                async for each in stream:
                    text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                    self._input.write(f"{text}\n".encode())
                    await self._input.drain()

    async def _read_errors(self, errors: asyncio.StreamReader) -> None:
        while chunk := await errors.read(2**16):
            self._tail += chunk
            del self._tail[:-_TAIL]

    async def _has_exited(self) -> bool:
        """Return whether the program exits in time; `wait()` would wait for its children's pipes, too."""
        for _ in range(int(_GRACE * 100)):
            if self._process.returncode is not None:
                return True
            await asyncio.sleep(0.01)
        return False

    def _kill(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)
