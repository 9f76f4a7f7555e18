"""Answers of Ray in an event loop: those that come together wake it once."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary
from weakref import ref as weak

if TYPE_CHECKING:
    from concurrent.futures import Future


class Answers:
    """What comes to one event loop from Ray's threads."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = weak(loop)  # it is the key that this is kept under
        self._come: deque[tuple[asyncio.Future[Any], Future[Any]]] = deque()
        self._is_woken = False

    def of(self, ref: Any) -> asyncio.Future[Any]:
        """A future of this loop for an object of Ray."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        ref.future().add_done_callback(lambda done: self._put(answer, done))
        return answer

    def _put(self, answer: asyncio.Future[Any], done: Future[Any]) -> None:
        self._come.append((answer, done))
        if not self._is_woken:
            self._is_woken = True
            loop = self._loop()
            try:
                if loop is not None:
                    loop.call_soon_threadsafe(self._take)
            except RuntimeError:  # it is closed: nobody waits
                self._come.clear()

    def _take(self) -> None:
        self._is_woken = False
        while self._come:
            answer, done = self._come.popleft()
            if answer.done():
                continue
            error = done.exception()
            if error is None:
                answer.set_result(done.result())
            else:
                answer.set_exception(error)


_of_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, Answers] = WeakKeyDictionary()


def answers_of(loop: asyncio.AbstractEventLoop) -> Answers:
    """The one of a loop."""
    found = _of_loops.get(loop)
    if found is None:
        found = _of_loops[loop] = Answers(loop)
    return found
