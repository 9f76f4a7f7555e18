"""`Stream` and `AsyncStream`: the events of a run while it happens, then its response."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from tools_agent._response import Response
    from tools_agent._run import Run


class _Base:
    _run: Run

    @property
    def response(self) -> Response:
        """The response, once the stream has ended. Raises RuntimeError before."""
        if self._run.response is None:
            raise RuntimeError("there is no response before the stream has ended: iterate over it first")
        return self._run.response


class Stream(_Base, Iterator[Any]):
    """The events of a run; the run begins with the first one. Closing the stream interrupts the run."""

    def __init__(self, run: Run, events: Callable[[Run], Generator[Any]]) -> None:
        self._run = run
        self._events = events(run)

    def __next__(self) -> Any:
        return next(self._events)

    def close(self) -> None:
        """Interrupt the run if it has not ended."""
        self._events.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncStream(_Base, AsyncIterator[Any]):
    """`Stream` for coroutines."""

    def __init__(self, run: Run, events: Callable[[Run], AsyncGenerator[Any]]) -> None:
        self._run = run
        self._events = events(run)

    async def __anext__(self) -> Any:
        return await anext(self._events)

    async def aclose(self) -> None:
        """Interrupt the run if it has not ended."""
        await self._events.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
