"""Drivers of the loop: the loop is one generator, and these do for it what takes time, with threads or coroutines.

The generator yields events, which go to the caller, and effects, whose values come back to it. So the loop is written
once for `generate` and `agenerate`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import suppress
from contextvars import ContextVar
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from tools_core.threads import run_coroutine

if TYPE_CHECKING:
    import asyncio

    from tools_agent._session._session import Session

END: Any = object()  # the value of `Next` after the last item
WAKE: Any = object()  # the value of `Next` when `Source.wake` was called meanwhile

Steps = Generator[Any, Any, None]
calling_back: ContextVar[object] = ContextVar("calling_back", default=None)  # the run whose callback is running


class Stopped(BaseException):
    """Raised in the loop where the caller stops iterating."""


class Effect:
    """Something to do for the loop."""

    def run(self) -> Any:
        """Do it in this thread."""
        raise NotImplementedError

    async def arun(self) -> Any:
        """Do it in this event loop."""
        return self.run()


class Write(Effect):
    """Change a session; where a store does the work, in a worker thread of the event loop."""

    def __init__(self, session: Session, function: Callable[..., Any], *arguments: Any) -> None:
        self._blocks = session.store is not None
        self._function = function
        self._arguments = arguments

    def run(self) -> Any:
        return self._function(*self._arguments)

    async def arun(self) -> Any:
        import asyncio  # 30 ms, which only coroutines pay; loaded by now

        return await asyncio.to_thread(self.run) if self._blocks else self.run()


class Callback(Effect):
    """Call a function or coroutine function of the user; `calling_back` is the run meanwhile."""

    def __init__(self, run: object, function: Callable[..., Any], *arguments: Any) -> None:
        self._run = run
        self._function = function
        self._arguments = arguments

    def run(self) -> Any:
        token = calling_back.set(self._run)
        try:
            value = self._function(*self._arguments)
            return run_coroutine(_awaiting(value)) if isawaitable(value) else value
        finally:
            calling_back.reset(token)

    async def arun(self) -> Any:
        token = calling_back.set(self._run)
        try:
            value = self._function(*self._arguments)
            return await value if isawaitable(value) else value
        finally:
            calling_back.reset(token)


async def _awaiting(value: Awaitable[Any]) -> Any:
    return await value


class Source:
    """Items that arrive over time: of a model's reply, or results of tool calls."""

    def __init__(self, iterate: Callable[[], Iterator[Any]], aiterate: Callable[[], AsyncIterator[Any]]) -> None:
        self._iterate = iterate
        self._aiterate = aiterate
        self._items: Any = None
        self._next: asyncio.Future[Any] | None = None
        self._woken: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    def wake(self) -> None:
        """Let `Next` of a coroutine return now; from any thread."""
        if self._woken is not None:
            loop, event = self._woken
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(event.set)

    def next(self) -> Any:
        """Return the next item, or END."""
        if self._items is None:
            self._items = self._iterate()
        return next(self._items, END)

    async def anext(self) -> Any:
        """Return the next item, END, or WAKE."""
        if self._items is None:
            self._items = aiter(self._aiterate())
        return await anext(self._items, END)

    async def anext_or_wake(self) -> Any:
        """`anext`, but return WAKE when `wake` is called first."""
        import asyncio  # loaded by now

        if self._woken is None:
            self._woken = asyncio.get_running_loop(), asyncio.Event()
        event = self._woken[1]
        if self._next is None:
            self._next = asyncio.ensure_future(self.anext())
        waking = asyncio.ensure_future(event.wait())
        try:
            await asyncio.wait({self._next, waking}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waking.cancel()
        event.clear()
        if not self._next.done():
            return WAKE
        done, self._next = self._next, None
        return done.result()

    def close(self) -> None:
        """Stop the items."""
        if hasattr(self._items, "close"):
            self._items.close()

    async def aclose(self) -> None:
        """`close` for coroutines."""
        import asyncio  # loaded by now

        if self._next is not None:
            self._next.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await self._next
        if hasattr(self._items, "aclose"):
            await self._items.aclose()


class Next(Effect):
    """Return the next item of a source, or END."""

    def __init__(self, source: Source, *, wakes: bool = False) -> None:
        self._source = source
        self._wakes = wakes

    def run(self) -> Any:
        return self._source.next()

    async def arun(self) -> Any:
        return await (self._source.anext_or_wake() if self._wakes else self._source.anext())


class Close(Effect):
    """Close a source."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def run(self) -> None:
        self._source.close()

    async def arun(self) -> None:
        await self._source.aclose()


def drive(steps: Steps) -> Generator[Any]:
    """Run the loop in this thread, and yield its events."""
    value: Any = None
    error: BaseException | None = None
    is_stopped = False
    while True:
        try:
            step = steps.send(value) if error is None else steps.throw(error)
        except (StopIteration, Stopped):
            return
        value = error = None
        try:
            if isinstance(step, Effect):
                value = step.run()
            elif not is_stopped:
                yield step
        except GeneratorExit:  # the caller has stopped iterating
            error, is_stopped = Stopped(), True
        except BaseException as raised:  # noqa: BLE001  (the loop decides)
            error = raised


async def adrive(steps: Steps) -> AsyncGenerator[Any]:
    """Run the loop in this event loop, and yield its events."""
    value: Any = None
    error: BaseException | None = None
    is_stopped = False
    while True:
        try:
            step = steps.send(value) if error is None else steps.throw(error)
        except (StopIteration, Stopped):
            return
        value = error = None
        try:
            if isinstance(step, Effect):
                value = await step.arun()
            elif not is_stopped:
                yield step
        except GeneratorExit:  # the caller has stopped iterating
            error, is_stopped = Stopped(), True
        except BaseException as raised:  # noqa: BLE001  (the loop decides)
            error = raised
