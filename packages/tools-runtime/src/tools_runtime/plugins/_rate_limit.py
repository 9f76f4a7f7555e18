"""How often, and how many at once, tools may be called."""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from fnmatch import fnmatchcase
from heapq import heappop, heappush
from time import monotonic
from typing import TYPE_CHECKING, Any

from tools_core import Result
from tools_runtime._effects import Until
from tools_runtime._runtimes._runtime import check_concurrency
from tools_runtime.hookspecs import hookimpl
from tools_runtime.plugins._waiting import pause

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from tools_core import Context, ToolCall

_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}


class RateLimit:
    """Makes calls wait for their turn, so that tools are not called too often, or too many at once.

    `rates` gives tools, or patterns of names such as `"web_*"`, a count in a time: `"10/s"`, `"100/min"`, `"1000/h"`,
    or `(count, seconds)`. So many may come at once after a pause, the others one by one. `max_concurrency` gives them
    how many may run at once: 1 is "not in parallel". All tools that match a pattern share its limits, and every pattern
    that matches a tool holds for it.

    Calls wait in the order in which they came. One whose turn would come after the caller's deadline is not made: its
    error is `limit_exceeded`, with the seconds to wait in `metadata["retry_after"]` where they are known. The limits
    are those of this object, which several executors may share, and of this process. A call that a tool makes while it
    runs, and that would have to wait for its end, is refused. A call that was left behind at
    its time limit no longer counts as running.
    """

    def __init__(
        self,
        rates: Mapping[str, str | tuple[int, float]] | None = None,
        *,
        max_concurrency: Mapping[str, int] | None = None,
    ) -> None:
        self._buckets = [(pattern, _Bucket(*_rate(rate))) for pattern, rate in (rates or {}).items()]
        self._gates = [(pattern, _Gate(most)) for pattern, most in (max_concurrency or {}).items()]
        self._lock = threading.RLock()  # a generator that is collected gives its turn back, perhaps in here

    @hookimpl(trylast=True)
    def around_tool_call(self, call: ToolCall, context: Context) -> Generator[Any, Any, Result | None]:
        """Let the call through when it is its turn."""
        gates = [gate for pattern, gate in self._gates if _concerns(pattern, call)]
        buckets = [bucket for pattern, bucket in self._buckets if _concerns(pattern, call)]
        if not gates and not buckets:
            return None
        held: list[tuple[_Gate, Future[None]]] = []
        try:
            for gate in gates:  # in one order for all, so that no two wait for each other
                turn = gate.enter()
                held.append((gate, turn))
                if not turn.done():
                    if _outer.get().count(gate) >= gate.most:
                        return _refused(call, "it is called by a call that it would have to wait for", None)
                    yield Until(turn, context.remaining, context)
                    if context.cancelled:
                        return _given_up()
                    if not turn.done():
                        return _refused(call, "too many calls of it are running", None)
            refused = yield from self._wait(call, buckets, context)
            if refused is not None:
                return refused
            if context.cancelled:
                return _given_up()
            with _inside(gates):
                result: Result = yield
            return result
        finally:  # also when the caller is cancelled, and this generator closed
            for gate, turn in reversed(held):
                gate.leave(turn)

    def _wait(self, call: ToolCall, buckets: list[_Bucket], context: Context) -> Generator[Any, Any, Result | None]:
        if not buckets:
            return None
        with self._lock:
            now = monotonic()
            wait = max(bucket.next_turn(now) for bucket in buckets) - now
            remaining = context.remaining
            if wait > 0 and remaining is not None and wait >= remaining:
                return _refused(call, "it is called too often", wait)
            turns = [bucket.take(now) for bucket in buckets]
        if wait > 0:
            is_over = False
            try:
                yield from pause(wait, context)
                is_over = not context.cancelled
            finally:  # also when the caller is cancelled, and this generator closed
                if not is_over:
                    with self._lock:
                        for bucket, turn in zip(buckets, turns, strict=True):
                            bucket.give_back(turn)
        return None


_outer: ContextVar[tuple[_Gate, ...]] = ContextVar("tools_runtime_gates", default=())  # of calls that we are inside of


@contextmanager
def _inside(gates: Sequence[_Gate]) -> Generator[None]:
    if not gates:
        yield
        return
    token = _outer.set((*_outer.get(), *gates))
    try:
        yield
    finally:
        # A call that was left behind at its limit goes on in another thread or task: there is nothing to undo.
        with suppress(ValueError):
            _outer.reset(token)


class _Bucket:
    """A token bucket as a timetable: each call takes the next free time."""

    def __init__(self, count: int, seconds: float) -> None:
        self.interval = seconds / count
        self.burst = seconds - self.interval  # how far ahead of its time a call may come
        self._next = 0.0
        self._returned: list[float] = []  # times that were taken and given back, the earliest first

    def next_turn(self, now: float) -> float:
        """When a call that comes now may be made; in the past, where at once."""
        while self._returned and self._returned[0] - self.burst < now:
            heappop(self._returned)  # its time is over: to use it later would bring two at once
        return (self._returned[0] if self._returned else max(self._next, now)) - self.burst

    def take(self, now: float) -> float:
        """Take that turn."""
        if self._returned:
            return heappop(self._returned)
        turn = max(self._next, now)
        self._next = turn + self.interval
        return turn

    def give_back(self, turn: float) -> None:
        """Leave a turn to somebody else."""
        heappush(self._returned, turn)


class _Gate:
    """A semaphore that anybody can wait for, in a thread or in an event loop, in the order of coming."""

    def __init__(self, most: int) -> None:
        check_concurrency(most)
        self.most = most
        self._free = most
        self._waiting: deque[Future[None]] = deque()
        self._lock = threading.RLock()  # see RateLimit

    def enter(self) -> Future[None]:
        """A future that is done once it is our turn."""
        turn: Future[None] = Future()
        with self._lock:
            if self._free:
                self._free -= 1
                turn.set_result(None)
            else:
                self._waiting.append(turn)
        return turn

    def leave(self, turn: Future[None]) -> None:
        """Go, or give up waiting."""
        with self._lock:
            if not turn.done():
                self._waiting.remove(turn)
                return
            following = self._waiting.popleft() if self._waiting else None
            if following is None:
                self._free += 1
                return
            # Inside the lock: who gives up meanwhile must see that the turn is theirs, and pass it on.
            following.set_result(None)


def _concerns(pattern: str, call: ToolCall) -> bool:
    """By the tool's own name as well, since a model may write that of its distribution in front."""
    return fnmatchcase(call.name, pattern) or fnmatchcase(call.name.rpartition(":")[2], pattern)


def _refused(call: ToolCall, reason: str, wait: float | None) -> Result:
    if wait is None:
        return Result.error(f"{call.name} was not called: {reason}; try again later", type="limit_exceeded")
    seconds = f"{wait:.0f}" if wait >= 10 else f"{wait:.2f}"
    text = f"{call.name} was not called: {reason}; try again in {seconds} s"
    return Result.error(text, type="limit_exceeded", metadata={"retry_after": round(wait, 3)})


def _given_up() -> Result:
    return Result.error("the caller gave up while the call waited for its turn", type="cancelled")


def _rate(given: str | tuple[int, float]) -> tuple[int, float]:
    try:
        if isinstance(given, str):
            count, _, unit = given.partition("/")
            found = int(count), _UNITS[unit]
        else:
            found = int(given[0]), float(given[1])
    except (ValueError, KeyError, TypeError, IndexError):
        found = 0, 0.0
    if found[0] < 1 or not 0 < found[1] < 1e9:
        raise ValueError(f'a rate is "10/s", "10/min", "10/h" or (count, seconds), above 0; got {given!r}')
    return found
