"""`Channel`: the way of events from a run to the consumer of its stream."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from enum import Enum
from typing import Final, Literal, TypeAlias

from tools_agent._events import (
    Delta,
    Interrupt,
    PartialOutput,
    TextDone,
    ToolCallDone,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    UsageUpdate,
)
from tools_agent._guardrails import Modification, Tripwire

StreamEvent: TypeAlias = (
    Delta | PartialOutput | TextDone | ToolCallDone | UsageUpdate | ToolStarted | ToolProgress | ToolFinished | Tripwire
    | Modification | Interrupt
)  # fmt: skip


class _End(Enum):
    END = 0


END: Final = _End.END  # after the last event


class Channel:
    """Hands over events. The run waits at each one until the consumer asks for the next."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._events: deque[StreamEvent] = deque()
        self._consumer: asyncio.Future[None] | None = None  # waits for an event
        self._senders: list[asyncio.Future[None]] = []  # wait for the consumer
        self._is_closed = False

    async def send(self, event: StreamEvent) -> None:
        """Hand over an event, and wait until the consumer asks for the next one."""
        if self._is_closed:
            return
        sender = self._loop.create_future()
        self._senders.append(sender)
        self._put(event)
        await sender

    def post(self, event: StreamEvent) -> None:
        """Add an event without waiting; from any thread."""
        if asyncio._get_running_loop() is self._loop:
            self._put(event)
            return
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._put, event)

    async def next(self) -> StreamEvent | Literal[_End.END]:
        """Let the run continue until its next event, and return it; END after the last one."""
        while not self._events:
            if self._is_closed:
                return END
            self._consumer = self._loop.create_future()
            self._release()
            try:
                await self._consumer
            finally:
                self._consumer = None
        return self._events.popleft()

    def close(self) -> None:
        """Send nothing more: the run has ended, or its consumer has left."""
        self._is_closed = True
        self._release()
        self._wake()

    def _put(self, event: StreamEvent) -> None:
        self._events.append(event)
        self._wake()

    def _wake(self) -> None:
        if self._consumer is not None and not self._consumer.done():
            self._consumer.set_result(None)

    def _release(self) -> None:
        senders, self._senders = self._senders, []
        for sender in senders:
            if not sender.done():
                sender.set_result(None)
