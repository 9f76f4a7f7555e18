"""One thread that watches over all calls on the cluster: their limits, their callers, and whether it still answers."""

from __future__ import annotations

import secrets
import threading
from contextlib import suppress
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Any

from tools_core.threads import in_thread, unwrap

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from concurrent.futures import Future

    from tools_core import Context

_TICK = 0.1  # seconds between two looks
_IDLE = 2.0  # how long the thread stays when there is nothing to watch
_ASK = 2.0  # between two questions whether the cluster is still there
_SILENT = 8.0  # a head that has not answered for so long is gone; Ray itself ends this process after 60
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

    def __init__(self, key: bytes, context: Context, limit: float | None, grace: float, wait: float) -> None:
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
        self.answer: asyncio.Future[Any] | None = None
        self.loop: asyncio.AbstractEventLoop | None = None

    def is_due(self, now: float) -> bool:
        """Whether it matters by now if the task has begun."""
        most = self.wait if self.limit is None else min(self.wait, self.limit)
        return self.begun is None and self.reason is None and now - self.sent >= 0.75 * most

    def drop(self) -> None:
        """Wait no longer for an answer."""
        if self.loop is not None and self.answer is not None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits
                self.loop.call_soon_threadsafe(self.answer.cancel)


class Watch:
    """The calls of one runtime."""

    def __init__(self) -> None:
        self._prefix = f"tools-runtime/{secrets.token_hex(8)}/".encode()
        self._numbers = count()
        self._flights: set[Flight] = set()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._is_awake = False
        self._question: Future[Any] | None = None
        self._asked = 0.0

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
            is_lost = self._ask(flights, now)
            wake = now + _TICK
            for flight in flights:
                self._look(flight, now, is_lost, cancel)
                if flight.begun is not None and flight.limit is not None and flight.reason is None:
                    wake = min(wake, flight.begun + flight.limit + flight.grace)
            self._wake.wait(max(0.001, wake - monotonic()))
            self._wake.clear()

    def _look(self, flight: Flight, now: float, is_lost: bool, cancel: Callable[..., None]) -> None:
        if flight.answer is None or flight.answer.done():
            return
        if flight.reason is not None:
            if now - flight.stopped > _GRACE:
                flight.drop()
            return
        reason = "lost" if is_lost else self._reason(flight, now)
        if reason is not None:
            flight.reason, flight.stopped = reason, now
            if is_lost:
                flight.drop()
            with suppress(Exception):  # it has just ended, or there is nobody left to tell
                cancel(flight.ref, force=True)

    def _reason(self, flight: Flight, now: float) -> str | None:
        """Why a task must be ended now."""
        if flight.context.cancelled:
            return "cancelled"
        if flight.begun is not None:
            is_over = flight.limit is not None and now >= flight.begun + flight.limit + flight.grace
            return "timeout" if is_over else None
        return "queue" if now - flight.sent >= flight.wait and self._asked > flight.sent else None

    def _ask(self, flights: list[Flight], now: float) -> bool:
        """Ask the head of the cluster what has begun, where that matters; returns whether it is gone."""
        question = self._question
        if question is not None:
            if not question.done():
                return now - self._asked > _SILENT
            self._question = None
            try:
                self._note(unwrap(question.result()), flights)
            except Exception:  # noqa: BLE001  (whatever Ray raises)
                return True
        since = now - self._asked
        is_due = any(flight.is_due(now) for flight in flights)
        if flights and since >= (_TICK / 2 if is_due else _ASK):
            self._asked = now
            self._question = in_thread(lambda: _told(self._prefix))
            self._question.add_done_callback(lambda _: self._wake.set())
        return False

    def _note(self, keys: list[bytes], flights: list[Flight]) -> None:
        told = dict(key.rsplit(b"/", 1) for key in keys)
        for flight in flights:
            waited = told.get(flight.key[:-1])
            if waited is not None and flight.begun is None:
                flight.begun = flight.sent + float(waited)


def _told(prefix: bytes) -> list[bytes]:
    from ray.experimental.internal_kv import _internal_kv_list  # loaded already: there is a call

    keys: list[bytes] = _internal_kv_list(prefix)
    return keys


def _delete(prefix: bytes) -> None:
    from ray.experimental.internal_kv import _internal_kv_del  # as above

    _internal_kv_del(prefix, del_by_prefix=True)
