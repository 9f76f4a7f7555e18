"""Answers of Ray in an event loop: a few come each by itself, and of many Ray is asked at intervals what has come.

An answer that comes by itself comes in a thread of Ray's own, which waits for the interpreter lock, reads the object
and wakes the loop: of a thousand calls at once that took half as much processor time again.
"""

from __future__ import annotations

from time import thread_time
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    import asyncio

    from tools_runtime._ray._watch import Flight

_FEW = 8
_INTERVAL, _LONGEST = 0.002, 0.02  # seconds, between them so that the asking takes no more than
_SHARE = 0.04  # of a processor


class Answers:
    """What one event loop waits for."""

    def __init__(self) -> None:
        self._few: set[Flight] = set()
        self._many: dict[Any, Flight] = {}
        self._timer: asyncio.TimerHandle | None = None

    def expect(self, flight: Flight, ray: Any) -> None:
        """End the flight with what becomes of its task, unless it is forgotten before."""
        if len(self._few) < _FEW:
            self._few.add(flight)
            flight.ref._on_completed(flight.end)  # what `future()` is made of
            return
        self._many[flight.ref] = flight
        if self._timer is None:
            self._timer = flight.loop.call_later(_INTERVAL, self._ask, ray, flight.loop)

    def forget(self, flight: Flight) -> None:
        """Nobody waits for it any more."""
        self._few.discard(flight)
        self._many.pop(flight.ref, None)

    def _ask(self, ray: Any, loop: asyncio.AbstractEventLoop) -> None:
        began, self._timer = thread_time(), None
        for ref, answer in _come(ray, list(self._many)):
            self._many.pop(ref).settle(answer)
        if self._many:
            pause = min(_LONGEST, max(_INTERVAL, (thread_time() - began) / _SHARE))
            self._timer = loop.call_later(pause, self._ask, ray, loop)


def _come(ray: Any, refs: list[Any]) -> list[tuple[Any, Any]]:
    """The objects that are here, each as it is or as the exception that it is."""
    if not refs:
        return []
    try:
        ready, _ = ray.wait(refs, num_returns=len(refs), timeout=0)
    except Exception as error:  # noqa: BLE001  (Ray is gone)
        return [(ref, error) for ref in refs]
    try:
        return list(zip(ready, ray.get(ready, timeout=_INTERVAL), strict=True))
    except Exception:  # noqa: BLE001  (of one of them)
        return [come for come in ((ref, _object(ray, ref)) for ref in ready) if come[1] is not None]


def _object(ray: Any, ref: Any) -> Any:
    try:
        return ray.get(ref, timeout=_INTERVAL)
    except ray.exceptions.GetTimeoutError:  # lost since, and looked for: the next time
        return None
    except Exception as error:  # noqa: BLE001  (whatever became of the task)
        return error


_of_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, Answers] = WeakKeyDictionary()


def answers_of(loop: asyncio.AbstractEventLoop) -> Answers:
    """The one of a loop."""
    found = _of_loops.get(loop)
    if found is None:
        found = _of_loops[loop] = Answers()
    return found
