"""`Stream` and `AsyncStream`: the events of a run, then its response."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, Self
from weakref import WeakValueDictionary

from tools_agent._loop._drive import adrive, drive
from tools_agent._response import OutputT

if TYPE_CHECKING:
    from tools_agent._loop._run import Run
    from tools_agent._response import Response

_log = logging.getLogger("tools_agent")
# By the keys of their sessions: streams after a `break`, which end before another run, and runs that are ending.
_left: WeakValueDictionary[str, Stream[Any] | AsyncStream[Any]] = WeakValueDictionary()
_closing: dict[str, asyncio.Task[None]] = {}


class _Base(Generic[OutputT]):
    _run: Run | None

    @property
    def response(self) -> Response[OutputT]:
        """The response, once the stream has ended. Raises RuntimeError before."""
        response = None if self._run is None else self._run.response
        if response is None:
            raise RuntimeError("there is no response before the stream has ended: iterate over it first")
        return response


class Stream(_Base[OutputT], Iterator[Any]):
    """The events of a run, which begins with the first one.

    A second loop continues after the events that the first one has taken. The run ends when nothing refers to the
    stream any more, when another run of the session begins after a `break`, and by `close`.
    """

    def __init__(self, run: Run) -> None:
        self._run: Run | None = run
        self._session = run.session
        self._has_begun = False
        self._events = drive(run.steps())

    def __iter__(self) -> Iterator[Any]:  # noqa: PYI034
        _come_back(self, self._session.key)
        return _Loop(self)

    def __next__(self) -> Any:
        self._begin()
        return next(self._events)

    def _begin(self) -> None:
        if not self._has_begun:
            self._has_begun = True
            if (left := _left.pop(self._session.key, None)) is not None:
                left.leave()

    def finish(self) -> Response[OutputT]:
        """Run to the end, and return the response."""
        self._begin()
        for _ in self._events:
            pass
        return self.response

    def leave(self) -> None:
        """End the run, since another one of the session begins."""
        self.close()

    def close(self) -> None:
        """End the run if it has not ended."""
        self._events.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        try:
            self.close()
        except Exception as error:  # noqa: BLE001  (no caller would receive it)
            _log.warning("a run without a consumer could not be ended: %s", error)


class AsyncStream(_Base[OutputT], AsyncIterator[Any]):
    """`Stream` for coroutines."""

    def __init__(self, make: Callable[[], Run]) -> None:
        self._make = make  # it may read the session from a store, and calls functions of the user
        self._run: Run | None = None
        self._events: AsyncGenerator[Any] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None  # while the run is active

    def __aiter__(self) -> AsyncIterator[Any]:  # noqa: PYI034
        if self._run is not None:
            _come_back(self, self._run.session.key)
        return _AsyncLoop(self)

    async def __anext__(self) -> Any:
        if self._events is None:
            self._run = await asyncio.to_thread(self._make)
            self._events = adrive(self._run.steps())
            await _end_left(self._run.session.key)
        self._loop = asyncio.get_running_loop()
        try:
            return await anext(self._events)
        except BaseException:
            self._loop = None
            raise

    async def finish(self) -> Response[OutputT]:
        """Run to the end, and return the response."""
        async for _ in self:
            pass
        return self.response

    async def aclose(self) -> None:
        """End the run if it has not ended."""
        self._loop = None
        if self._events is not None:
            await self._events.aclose()

    def leave(self) -> None:
        """Start to end the run, if it has not ended."""
        loop, self._loop = self._loop, None
        if loop is None or self._run is None or self._events is None:
            return
        key, events = self._run.session.key, self._events

        def start() -> None:
            _closing[key] = task = loop.create_task(events.aclose())
            task.add_done_callback(lambda task: _closing.pop(key) if _closing.get(key) is task else None)

        with suppress(RuntimeError):  # the event loop is closed
            start() if asyncio._get_running_loop() is loop else loop.call_soon_threadsafe(start)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __del__(self) -> None:
        self.leave()


class _Loop(Iterator[Any]):
    """The iterator of one `for` loop: deleted when the loop ends, it lets another run of the session begin."""

    def __init__(self, stream: Stream[Any]) -> None:
        self._stream = stream

    def __next__(self) -> Any:
        return next(self._stream)

    def __del__(self) -> None:
        if self._stream._run is not None and self._stream._run.is_active:
            _left[self._stream._session.key] = self._stream


class _AsyncLoop(AsyncIterator[Any]):
    """The iterator of one `async for` loop."""

    def __init__(self, stream: AsyncStream[Any]) -> None:
        self._stream = stream

    async def __anext__(self) -> Any:
        return await anext(self._stream)

    def __del__(self) -> None:
        run = self._stream._run
        if run is not None and run.is_active:
            _left[run.session.key] = self._stream


def _come_back(stream: Stream[Any] | AsyncStream[Any], key: str) -> None:
    """Forget that a stream had no loop."""
    if _left.get(key) is stream:
        del _left[key]


async def _end_left(key: str) -> None:
    """End the run of a session whose consumer has stopped."""
    left = _left.pop(key, None)
    if isinstance(left, AsyncStream):
        left.leave()
    elif left is not None:
        await asyncio.to_thread(left.leave)
    if (task := _closing.get(key)) is not None:
        await asyncio.wait({task})
