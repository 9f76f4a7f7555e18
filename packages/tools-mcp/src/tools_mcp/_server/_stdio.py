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
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server as LowLevelServer

_NOT_A_MESSAGE = ErrorData(code=PARSE_ERROR, message="not a JSON-RPC message; send one a line")


async def serve(lowlevel: LowLevelServer[Any]) -> None:
    """Serve one client until it closes its end; SIGTERM raises CancelledError.

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
        transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sink)
        transport.set_write_buffer_limits(0)  # `drain` returns when the whole message is in the pipe
        write = _Outgoing(asyncio.StreamWriter(transport, protocol, None, loop))
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


class _Outgoing(ObjectSendStream[SessionMessage]):
    """Writes messages as lines."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def send(self, item: SessionMessage) -> None:
        """Write a message; BrokenResourceError if the client has disconnected."""
        self._writer.write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
        try:
            await self._writer.drain()
        except OSError:
            raise anyio.BrokenResourceError from None

    async def aclose(self) -> None:
        """Do nothing: messages are in the pipe already."""


async def _read(
    lines: asyncio.StreamReader, messages: ObjectSendStream[SessionMessage | Exception], write: _Outgoing
) -> None:
    async with messages:
        async for line in lines:
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                await write.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=None, error=_NOT_A_MESSAGE)))
            else:
                await messages.send(SessionMessage(message))
