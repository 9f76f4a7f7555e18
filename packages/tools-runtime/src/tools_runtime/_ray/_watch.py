"""One thread that watches over all calls on the cluster: their limits, their callers, and whether it still answers."""

from __future__ import annotations

import secrets
import threading
from contextlib import suppress
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Any

from tools_core.threads import in_thread, unwrap
from tools_runtime._ray._cluster import head

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from concurrent.futures import Future

    from tools_core import Context

_TICK = 0.1  # seconds between two looks
_IDLE = 2.0  # how long the thread stays when there is nothing to watch
_ASK = 1.0  # between two questions whether the cluster is still there
_SILENT = 8.0  # a head that has not answered for so long is gone; Ray itself ends this process after 60
_QUIET = 0.4  # one that has not for so long gives nobody a reason to wait beyond his limit
_GRACE = 2.0  # for Ray to end a task, before it is left to itself


class Flight:
    """A task on its way; times are monotonic."""

    __slots__ = (
        "answer",
        "begun",
        "context",
        "grace",
        "key",
        "limit",
        "loop",
        "reason",
        "ref",
        "sent",
        "stopped",
        "wait",
    )

    def __init__(
        self,
        key: bytes,
        context: Context,
        limit: float | None,
        grace: float,
        wait: float,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.key = key
        self.context = context
        self.limit = limit
        self.grace = grace
        self.wait = wait
        self.sent = monotonic()
        self.begun: float | None = None
        self.reason: str | None = None  # "timeout", "cancelled", "queue" or "lost", once it was stopped
        self.stopped = 0.0
        self.ref: Any = None
        self.loop = loop
        self.answer: asyncio.Future[Any] = loop.create_future()  # what Ray gives or raises; None where nobody waits

    def is_due(self, now: float) -> bool:
        """Whether it matters by now if the task has begun."""
        most = self.wait if self.limit is None else min(self.wait, self.limit)
        return self.begun is None and self.reason is None and now - self.sent >= 0.75 * most

    def is_over(self, now: float) -> bool:
        """Whether it would have ended by now, had it begun as soon as it was sent."""
        over = self.wait if self.limit is None else min(self.wait, self.limit + self.grace + _TICK)
        return self.begun is None and now - self.sent >= over

    def end(self, answer: Any) -> None:
        """Give whoever waits the answer, from any thread; what comes after the first one is for nobody."""
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            self.loop.call_soon_threadsafe(self.settle, answer)

    def settle(self, answer: Any) -> None:
        """`end` for the loop itself."""
        if not self.answer.done():  # it may have been dropped, or its caller cancelled
            self.answer.set_result(answer)


class Watch:
    """The calls of one runtime."""

    def __init__(self, on_loss: Callable[[], None]) -> None:
        self._on_loss = on_loss
        self._prefix = f"tools-runtime/{secrets.token_hex(8)}/".encode()
        self._numbers = count()
        self._flights: set[Flight] = set()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._is_awake = False
        self.is_lost = False  # the head of the cluster has not answered the last question
        self._question: Future[Any] | None = None
        self._asked = 0.0
        self._moved = 0.0  # when a call has ended and left its place to another

    def key(self) -> bytes:
        """A new key, under which the worker tells that a call has begun."""
        return b"%s%d/" % (self._prefix, next(self._numbers))

    def add(self, flight: Flight, cancel: Callable[..., None]) -> None:
        """Watch a task until `remove`."""
        with self._lock:
            self._flights.add(flight)
            if not self._is_awake:
                self._is_awake = True
                threading.Thread(target=self._run, args=(cancel,), name="tools-runtime ray", daemon=True).start()
        if flight.limit is not None and flight.limit < 2 * _TICK:
            self._wake.set()

    def remove(self, flight: Flight) -> None:
        """Watch it no longer."""
        with self._lock:
            self._flights.discard(flight)
            self._moved = monotonic()

    def look_for_head(self) -> None:
        """Ask once more whether the head that was lost is there; takes a while, and raises what Ray does."""
        _told(self._prefix)
        self.is_lost = False

    def begin_anew(self) -> None:
        """It is another cluster now."""
        self.is_lost, self._question = False, None

    def stop_all(self) -> None:
        """End all calls."""
        with self._lock:
            flights = list(self._flights)
        for flight in flights:
            flight.context.cancel()
        self._wake.set()

    def find(self, flight: Flight) -> None:
        """Ask whether a task had begun; takes a while."""
        with suppress(Exception):  # then nobody knows
            self._note(_told(self._prefix), [flight])

    def forget(self, flight: Flight) -> None:
        """Take back what the worker of a task has told, where it could not do so itself."""
        in_thread(lambda: _delete(flight.key))

    @property
    def is_quiet(self) -> bool:
        """Whether there is no use in asking the head of the cluster anything now."""
        question = self._question
        return self.is_lost or (question is not None and not question.done() and monotonic() - self._asked > _QUIET)

    def _run(self, cancel: Callable[..., None]) -> None:
        last = monotonic()
        while True:
            now = monotonic()
            with self._lock:
                flights = list(self._flights)
                if flights:
                    last = now
                elif now - last > _IDLE:
                    self._is_awake = False
                    return
            self._ask(flights, now)
            is_quiet = self.is_quiet
            wake = now + _TICK
            for flight in flights:
                self._look(flight, now, self.is_lost or (is_quiet and flight.is_over(now)), cancel)
                if flight.begun is not None and flight.limit is not None and flight.reason is None:
                    wake = min(wake, flight.begun + flight.limit + flight.grace)
            self._wake.wait(max(0.001, wake - monotonic()))
            self._wake.clear()

    def _look(self, flight: Flight, now: float, is_lost: bool, cancel: Callable[..., None]) -> None:
        if flight.answer.done():
            return
        if flight.reason is not None:
            if now - flight.stopped > _GRACE:
                flight.end(None)
            return
        reason = "lost" if is_lost else self._reason(flight, now)
        if reason is not None:
            flight.reason, flight.stopped = reason, now
            if is_lost:
                flight.end(None)
            with suppress(Exception):  # it has just ended, or there is nobody left to tell
                cancel(flight.ref, force=True)

    def _reason(self, flight: Flight, now: float) -> str | None:
        """Why a task must be ended now."""
        if flight.context.cancelled:
            return "cancelled"
        if flight.begun is not None:
            is_over = flight.limit is not None and now >= flight.begun + flight.limit + flight.grace
            return "timeout" if is_over else None
        is_over = now - max(flight.sent, self._moved) >= flight.wait and self._asked > flight.sent
        return "queue" if is_over else None

    def _ask(self, flights: list[Flight], now: float) -> None:
        """Ask the head of the cluster what has begun, where that matters, and whether it is still there."""
        question = self._question
        if question is not None:
            if not question.done():
                return
            self._question = None
            try:
                self._note(unwrap(question.result()), flights)
                self.is_lost = False
            except Exception:  # noqa: BLE001  (whatever Ray raises)
                if not self.is_lost:
                    self.is_lost = True
                    in_thread(self._on_loss)
        since = now - self._asked
        is_due = any(flight.is_due(now) for flight in flights)
        if flights and since >= (_TICK / 2 if is_due else _ASK):
            self._asked = now
            self._question = in_thread(lambda: _told(self._prefix))
            self._question.add_done_callback(lambda _: self._wake.set())

    def _note(self, keys: list[bytes], flights: list[Flight]) -> None:
        told = dict(key.rsplit(b"/", 1) for key in keys)
        for flight in flights:
            waited = told.get(flight.key[:-1])
            if waited is not None and flight.begun is None:
                flight.begun = flight.sent + float(waited)


def _told(prefix: bytes) -> list[bytes]:
    keys: list[bytes] = head().internal_kv_keys(prefix, None, _SILENT)
    return keys


def _delete(prefix: bytes) -> None:
    head().internal_kv_del(prefix, True, None, _SILENT)
