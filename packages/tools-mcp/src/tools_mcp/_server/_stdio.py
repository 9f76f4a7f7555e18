"""Standard input and output as a channel that nothing else in the process can reach."""

from __future__ import annotations

import asyncio
import json
import os
import select
import sys
from abc import ABC, abstractmethod
from collections import deque
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

from tools_core.threads import in_thread

if TYPE_CHECKING:
    from types import TracebackType

_ATOMIC = select.PIPE_BUF  # bytes that a pipe takes at once, if it takes any
_CHUNK = 1 << 16
_MOST_WAITING = 1_000  # messages that are read before those before them are handled
_FAREWELL = 5.0  # seconds for a client to read the last messages


def claim_streams() -> tuple[int, int]:
    """Return descriptors of standard input and output, which the process no longer has under their usual numbers.

    From now on, and until the process ends, what tools and their child processes print goes to standard error, and
    what they read is empty: a line of theirs between two messages would break the channel.
    """
    sys.stdout.flush()
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    for descriptor in (incoming, outgoing):
        os.set_blocking(descriptor, True)
    return incoming, outgoing


class _Stream(ABC):
    @abstractmethod
    async def aclose(self) -> None:
        """Close this side."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


class Outgoing(_Stream):
    """Writes messages as lines: in the event loop where that cannot block, else in a thread."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._ready = select.poll()
        self._ready.register(descriptor, select.POLLOUT)
        self._waiting: list[bytes] = []
        self._drain: asyncio.Task[None] | None = None

    async def send(self, item: SessionMessage) -> None:
        """Write a message; BrokenResourceError once the client is gone."""
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        if self._drain is None and len(line) <= _ATOMIC and self._ready.poll(0):
            _write(self._descriptor, line)
            return
        self._waiting.append(line)
        if self._drain is None:
            self._drain = asyncio.create_task(self._write_waiting())
        await asyncio.shield(self._drain)  # a caller that is cancelled leaves no half a line

    async def _write_waiting(self) -> None:
        try:
            while self._waiting:
                write = partial(_write, self._descriptor, b"".join(self._waiting))
                self._waiting = []
                _, error = await asyncio.wrap_future(in_thread(write))
                if error is not None:
                    raise error
        finally:
            self._drain = None

    async def aclose(self) -> None:
        """Wait for the client to read what was sent."""
        if self._drain is not None:
            with suppress(TimeoutError, anyio.BrokenResourceError):
                await asyncio.wait_for(asyncio.shield(self._drain), _FAREWELL)


class Incoming(_Stream):
    """Reads messages, one a line; a line that is not a message is answered with the error for it."""

    def __init__(self, descriptor: int, outgoing: Outgoing) -> None:
        self._descriptor = descriptor
        self._outgoing = outgoing
        self._loop = asyncio.get_running_loop()
        self._parts: list[bytes] = []  # of a line whose end has not arrived
        self._messages: deque[SessionMessage] = deque()
        self._happened = asyncio.Event()
        self._is_over = False
        self._is_reading = False
        self._is_paused = False
        self._answers: set[asyncio.Task[None]] = set()
        try:
            self._read_on()
        except OSError:  # a file, which is always ready and so cannot be waited for
            in_thread(self._read_file)

    async def receive(self) -> SessionMessage:
        """Return the next message; EndOfStream once the client has closed its side."""
        while not self._messages:
            if self._is_over:
                raise anyio.EndOfStream
            self._happened.clear()
            await self._happened.wait()
        message = self._messages.popleft()
        if self._is_paused and len(self._messages) < _MOST_WAITING // 2:
            self._is_paused = False
            self._read_on()
        return message

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, _CHUNK)
        except OSError:
            data = b""
        self._take(data)
        self._is_paused = not self._is_over and len(self._messages) >= _MOST_WAITING
        if self._is_over or self._is_paused:
            self._stop_reading()

    def _read_on(self) -> None:
        self._loop.add_reader(self._descriptor, self._read)
        self._is_reading = True

    def _stop_reading(self) -> None:
        if self._is_reading:
            self._loop.remove_reader(self._descriptor)
            self._is_reading = False

    def _read_file(self) -> None:
        with suppress(RuntimeError, OSError):  # the loop is closed
            while data := os.read(self._descriptor, _CHUNK):
                self._loop.call_soon_threadsafe(self._take, data)
            self._loop.call_soon_threadsafe(self._take, b"")

    def _take(self, data: bytes) -> None:
        self._is_over = self._is_over or not data
        head, *lines = data.split(b"\n")
        self._parts.append(head)
        for line in lines:
            self._parse(b"".join(self._parts))
            self._parts = [line]
        self._happened.set()

    def _parse(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            self._messages.append(SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False)))
        except ValueError:
            answer = asyncio.ensure_future(self._outgoing.send(SessionMessage(_refusal(line))))
            self._answers.add(answer)
            answer.add_done_callback(self._answers.discard)

    async def aclose(self) -> None:
        """Stop reading."""
        self._is_over = True
        self._is_paused = False
        self._stop_reading()
        self._happened.set()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


def _refusal(line: bytes) -> JSONRPCError:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=PARSE_ERROR, message="not valid JSON"))
    what = "batches are not supported; send one message a line" if isinstance(value, list) else "not a JSON-RPC message"
    return JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=INVALID_REQUEST, message=what))


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except OSError:
        raise anyio.BrokenResourceError from None
