"""The server on standard input and output, which no other code in the process can reach."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import sys
from typing import TYPE_CHECKING, Any

import anyio
from anyio.abc import ObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from tools_mcp._server._reading import parts_of, read_message, refusal

if TYPE_CHECKING:
    import io

    from mcp.server.lowlevel import Server as LowLevelServer

_CHECK = 0.5  # seconds between checks whether the client reads


async def serve(lowlevel: LowLevelServer[Any]) -> None:
    """Serve one client until it closes its end; SIGTERM raises CancelledError.

    Requests that have arrived are answered after the end of the input, unless the client reads no longer.
    The SDK's streams use threads: a call costs 1.3 times as much CPU, and a read cannot be cancelled.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None  # noqa: S101  (this is one)
    loop.add_signal_handler(signal.SIGTERM, task.cancel)
    incoming, outgoing = _claim_streams()
    lines = asyncio.StreamReader(limit=sys.maxsize)
    with os.fdopen(incoming, "rb", 0) as source, os.fdopen(outgoing, "wb", 0) as sink:
        if source.isatty() or stat.S_IFMT(os.fstat(incoming).st_mode) in (stat.S_IFIFO, stat.S_IFSOCK):
            await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), source)
        else:  # a file, or the null device
            lines.feed_data(source.read())
            lines.feed_eof()
        write = _Outgoing(sink if stat.S_ISREG(os.fstat(outgoing).st_mode) else await _writer(sink))
        messages, read = anyio.create_memory_object_stream[SessionMessage | Exception]()
        reading = asyncio.create_task(_read(lines, messages, write))
        try:
            await lowlevel.run(read, write, lowlevel.create_initialization_options())
        finally:
            reading.cancel()


def _claim_streams() -> tuple[int, int]:
    """Move standard input and output to new descriptors, and return those.

    From now on, and until the process ends, tools and their child processes print to standard error, and their input
    is empty: one of their lines between two messages would break the channel.
    """
    sys.stdout.flush()
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return incoming, outgoing


async def _writer(sink: io.FileIO) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sink)
    transport.set_write_buffer_limits(0)  # `drain` returns when the whole message is in the pipe
    return asyncio.StreamWriter(transport, protocol, None, loop)


class _Outgoing(ObjectSendStream[SessionMessage]):
    """Writes messages as lines, to a pipe or a file; knows which requests are not answered yet."""

    def __init__(self, writer: asyncio.StreamWriter | io.FileIO) -> None:
        self._writer = writer
        self._unanswered: set[Any] = set()  # requests of the client
        self._unanswered_of_server: set[Any] = set()
        self._changed = asyncio.Event()
        self._has_ended = False

    async def send(self, item: SessionMessage) -> None:
        """Write a message; BrokenResourceError if the client has disconnected, or cannot answer a request."""
        if isinstance(item.message, JSONRPCRequest):
            if self._has_ended:
                raise anyio.BrokenResourceError
            self._unanswered_of_server.add(item.message.id)
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        try:
            self._writer.write(line)
            if isinstance(self._writer, asyncio.StreamWriter):
                await self._writer.drain()
        except OSError:
            raise anyio.BrokenResourceError from None
        finally:
            if isinstance(item.message, JSONRPCResponse | JSONRPCError):
                self._unanswered.discard(item.message.id)
                self._changed.set()

    def note(self, message: Any) -> None:
        """Note a message of the client."""
        if isinstance(message, JSONRPCRequest) and message.method != "subscriptions/listen":  # which has no end
            self._unanswered.add(message.id)
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._unanswered.discard((message.params or {}).get("requestId"))
        elif isinstance(message, JSONRPCResponse | JSONRPCError):
            self._unanswered_of_server.discard(message.id)

    async def finish(self) -> None:
        """Wait until all requests of the client are answered, unless one waits for the client, which has gone."""
        self._has_ended = True
        while self._unanswered and not self._unanswered_of_server:
            if isinstance(self._writer, asyncio.StreamWriter) and self._writer.is_closing():
                return
            self._changed.clear()
            with anyio.move_on_after(_CHECK):
                await self._changed.wait()

    async def aclose(self) -> None:
        """Do nothing: messages are in the pipe already."""


async def _read(
    lines: asyncio.StreamReader, messages: ObjectSendStream[SessionMessage | Exception], write: _Outgoing
) -> None:
    async with messages:
        async for line in lines:
            for part in parts_of(line):
                try:
                    message = read_message(part)
                except (ValueError, RecursionError):
                    await write.send(SessionMessage(refusal(part)))
                else:
                    write.note(message)
                    await messages.send(SessionMessage(message))
        await write.finish()
