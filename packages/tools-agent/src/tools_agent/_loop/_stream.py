"""`Stream` and `AsyncStream`: the events of a run, then its response."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import suppress
from threading import Lock
from typing import Any, Generic, Self, cast
from weakref import WeakValueDictionary

from tools_agent._caller_loop import LoopOfCaller, in_worker
from tools_agent._loop._channel import END, Channel, StreamEvent
from tools_agent._loop._run import Run
from tools_agent._loop._tasks import result_of, wait_for_end
from tools_agent._response import OutputT, Response
from tools_core.threads import in_thread

_log = logging.getLogger("tools_agent")
# By the keys of their sessions: streams after a `break`, which end before another run, and runs that are ending.
_left: WeakValueDictionary[str, Stream[Any] | AsyncStream[Any]] = WeakValueDictionary()
_ending: dict[str, asyncio.Task[Any]] = {}
_started: WeakValueDictionary[str, Run] = WeakValueDictionary()


class AsyncStream(AsyncIterator[StreamEvent], Generic[OutputT]):
    """The events of a run, which begins with the first one.

    A second loop continues after the events that the first one has taken. The run ends when nothing refers to the
    stream any more, when another run of the session begins after a `break`, and by `aclose`.
    """

    def __init__(self, make: Callable[[], Run]) -> None:
        self._make = make  # it may read the session from a store, and calls functions of the user
        self._run: Run | None = None
        self._task: asyncio.Task[Response[OutputT]] | None = None
        self._channel: Channel | None = None

    @property
    def response(self) -> Response[OutputT]:
        """The response, once the stream has ended. Raises RuntimeError before."""
        if self._run is None or self._run.response is None:
            raise RuntimeError("there is no response before the stream has ended: iterate over it first")
        return self._run.response

    def __aiter__(self) -> AsyncIterator[StreamEvent]:  # noqa: PYI034  (returns another iterator)
        if self._run is not None:
            _come_back(self, self._run.session.key)
        return _AsyncLoop(self)

    async def __anext__(self) -> StreamEvent:
        event = await self._next()
        if event is None:
            raise StopAsyncIteration
        return event

    async def _next(self) -> StreamEvent | None:
        """Return the next event; None after the last one, and raise the exception of the run."""
        if self._channel is None:
            await self._begin()
        try:
            event = await cast("Channel", self._channel).next()
        except asyncio.CancelledError as error:
            await self._end(*error.args)
            raise
        if event is not END:
            return event
        task, self._task = self._task, None
        if task is not None:
            await task
        return None

    async def _begin(self) -> None:
        if self._run is None:
            self._run = await in_worker(self._make)
        await end_left(self._run.session.key)
        channel = self._channel = self._run.listen()
        self._task = _start(self._run)
        self._task.add_done_callback(lambda _: channel.close())

    async def aclose(self) -> None:
        """End the run if it has not ended."""
        await self._end("Closed")

    async def _end(self, *reason: Any) -> None:
        task = self._stop(*reason)
        if task is not None:
            await wait_for_end(task)
            _ = task.cancelled() or task.exception()

    def _stop(self, *reason: Any) -> asyncio.Task[Any] | None:
        """Cancel the run, in its event loop."""
        task, self._task = self._task, None
        if self._channel is not None:
            self._channel.close()
        if task is not None:
            task.cancel(*reason)
        return task

    def leave(self) -> None:
        """Start to end the run, if it has not ended."""
        task, run = self._task, self._run
        if task is None or run is None or task.done():
            return
        loop, key, channel = task.get_loop(), run.session.key, self._channel
        run.end_without_loop()

        def start() -> None:
            _ending[key] = task
            task.add_done_callback(lambda task: _ending.pop(key) if _ending.get(key) is task else None)
            task.add_done_callback(lambda task: task.cancelled() or task.exception())
            if channel is not None:
                channel.close()
            task.cancel("Closed")

        with suppress(RuntimeError):  # the event loop is closed
            start() if asyncio._get_running_loop() is loop else loop.call_soon_threadsafe(start)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __del__(self) -> None:
        self.leave()


class Stream(Iterator[StreamEvent], Generic[OutputT]):
    """`AsyncStream` for synchronous code: the run goes on while the caller waits for the next event."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._loop: LoopOfCaller | None = None  # while the run is active
        self._has_ended = False
        self._lock = Lock()
        self._stream: AsyncStream[OutputT] = AsyncStream(lambda: run)
        self._stream._run = run

    @property
    def response(self) -> Response[OutputT]:
        """The response, once the stream has ended. Raises RuntimeError before."""
        return self._stream.response

    def __iter__(self) -> Iterator[StreamEvent]:  # noqa: PYI034  (returns another iterator)
        _come_back(self, self._run.session.key)
        return _Loop(self)

    def __next__(self) -> StreamEvent:
        if self._has_ended:
            raise StopIteration
        if not self._lock.acquire(blocking=False):
            raise RuntimeError("the stream waits for its next event already, in another thread or below a callback")
        try:
            if self._loop is None:
                self._loop = LoopOfCaller()
            event = self._loop.run(self._stream._next())
        except BaseException:  # Ctrl-C may come when the event is on its way
            self._end()
            raise
        finally:
            self._lock.release()
        if event is None:
            self._release()
            raise StopIteration
        return event

    def close(self) -> None:
        """End the run if it has not ended; while the stream waits for an event, as soon as possible."""
        if not self._lock.acquire(blocking=False):
            self._run.interrupt("Closed")
            return
        try:
            self._end()
        finally:
            self._lock.release()

    def _end(self) -> None:
        if self._loop is not None:
            try:
                self._loop.run(self._stream.aclose())
            finally:
                self._release()
        self._has_ended = True

    def _release(self) -> None:
        self._has_ended = True
        if self._loop is not None:
            self._loop.release()
            self._loop = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        try:
            self.close()
        except Exception as error:  # noqa: BLE001  (no caller would receive it)
            _log.warning("a run without a consumer could not be ended: %s", error)


class _Loop(Iterator[StreamEvent]):
    """The iterator of one `for` loop: deleted when the loop ends, it lets another run of the session begin."""

    def __init__(self, stream: Stream[Any]) -> None:
        self._stream = stream

    def __next__(self) -> StreamEvent:
        return next(self._stream)

    def __del__(self) -> None:
        if self._stream._run.is_active:
            _left[self._stream._run.session.key] = self._stream


class _AsyncLoop(AsyncIterator[StreamEvent]):
    """The iterator of one `async for` loop."""

    def __init__(self, stream: AsyncStream[Any]) -> None:
        self._stream = stream

    async def __anext__(self) -> StreamEvent:
        return await anext(self._stream)

    def __del__(self) -> None:
        run = self._stream._run
        if run is not None and run.is_active:
            _left[run.session.key] = self._stream


def _come_back(stream: Stream[Any] | AsyncStream[Any], key: str) -> None:
    """Forget that a stream had no loop."""
    if _left.get(key) is stream:
        del _left[key]


async def finish(run: Run) -> Response[Any]:
    """Run to the end without a consumer."""
    await end_left(run.session.key)
    return await result_of(_start(run))


def _start(run: Run) -> asyncio.Task[Response[Any]]:
    """Start a run in a task of its own."""
    if (other := _started.get(run.session.key)) is None or not other.is_active:
        _started[run.session.key] = run
    return asyncio.create_task(run.run())


async def end_left(key: str) -> None:
    """End the run of a session whose consumer has stopped."""
    left = _left.pop(key, None)
    if isinstance(left, AsyncStream):
        await _in_loop_of(left._task, left.aclose)
    elif left is not None:
        await asyncio.wrap_future(in_thread(left.close))
    if (run := _started.get(key)) is not None:
        run.end_without_loop()
    if (task := _ending.get(key)) is not None:
        await _in_loop_of(task, lambda: asyncio.wait([task]))


async def _in_loop_of(task: asyncio.Task[Any] | None, make: Callable[[], Coroutine[Any, Any, Any]]) -> None:
    """Await a coroutine in the event loop of a task, unless the loop has ended."""
    if task is None or task.done():
        return
    loop = task.get_loop()
    if loop is asyncio.get_running_loop():
        await make()
    elif loop.is_running():
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(make(), loop))
