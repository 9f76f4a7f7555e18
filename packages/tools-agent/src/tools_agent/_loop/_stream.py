"""`Stream` and `AsyncStream`: the events of a run, then its response."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, Self, cast
from weakref import WeakKeyDictionary

from tools_agent._loop._drive import adrive, drive
from tools_agent._response import OutputT

if TYPE_CHECKING:
    from tools_agent._loop._run import Run
    from tools_agent._response import Response
    from tools_agent._session._session import Session

_log = logging.getLogger("tools_agent")
_closing: WeakKeyDictionary[Session, asyncio.Task[None]] = (
    WeakKeyDictionary()
)  # runs that end since their consumer has stopped


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

    Leaving the `for` loop ends the run, as `close` does.
    """

    def __init__(self, run: Run) -> None:
        self._run: Run | None = run
        self._events = drive(run.steps())

    def __iter__(self) -> Iterator[Any]:  # noqa: PYI034
        return _Loop(self)

    def __next__(self) -> Any:
        return next(self._events)

    def finish(self) -> Response[OutputT]:
        """Run to the end, and return the response."""
        for _ in self._events:
            pass
        return self.response

    def close(self) -> None:
        """End the run if it has not ended."""
        self._events.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncStream(_Base[OutputT], AsyncIterator[Any]):
    """`Stream` for coroutines."""

    def __init__(self, make: Callable[[], Run]) -> None:
        self._make = make  # it may read the session from a store, and calls functions of the user
        self._run: Run | None = None
        self._events: AsyncGenerator[Any] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None  # while the run is active

    def __aiter__(self) -> AsyncIterator[Any]:  # noqa: PYI034
        return _AsyncLoop(self)

    async def __anext__(self) -> Any:
        if self._events is None:
            self._run = await asyncio.to_thread(self._make)
            self._events = adrive(self._run.steps())
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            await _closed(cast("Run", self._run).session)
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

    def _leave(self) -> None:
        """Start to end the run, if it has not ended."""
        loop, self._loop = self._loop, None
        if loop is not None:
            with suppress(RuntimeError):  # the event loop is closed
                if asyncio._get_running_loop() is loop:
                    self._start_closing(loop)
                else:
                    loop.call_soon_threadsafe(self._start_closing, loop)

    def _start_closing(self, loop: asyncio.AbstractEventLoop) -> None:
        run, events = self._run, self._events
        if run is not None and events is not None:
            _closing[run.session] = loop.create_task(events.aclose())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class _Loop(Iterator[Any]):
    """The iterator of one `for` loop: deleted when the loop ends, it ends the run."""

    def __init__(self, stream: Stream[Any]) -> None:
        self._stream = stream

    def __next__(self) -> Any:
        return next(self._stream)

    def __del__(self) -> None:
        try:
            self._stream.close()
        except Exception as error:  # noqa: BLE001  (no caller would receive it)
            _log.warning("a run without a consumer could not be ended: %s", error)


class _AsyncLoop(AsyncIterator[Any]):
    """The iterator of one `async for` loop."""

    def __init__(self, stream: AsyncStream[Any]) -> None:
        self._stream = stream

    async def __anext__(self) -> Any:
        return await anext(self._stream)

    def __del__(self) -> None:
        self._stream._leave()


async def _closed(session: Session) -> None:
    """Wait until a run of the session whose consumer has stopped has ended."""
    task = _closing.pop(session, None)
    if task is not None and not task.done():
        await asyncio.wait({task})
