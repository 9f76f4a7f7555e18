"""How a worker tells that a call has begun: Ray itself tells its driver only when a task has ended.

Calls that end soon tell nothing, which would cost each a request to the head: a thread tells of those that take longer.
One that holds the interpreter lock from its beginning to its limit so is never told of: a timer of the kernel ends it.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

LATE = 1.0  # seconds: who has waited so long for a place tells at once that the wait is over
_PATIENCE = 5.0  # the longest that a call may run untold
_TICK = 0.05
_MARGIN = 0.15  # seconds for the driver to end a call at its limit by itself


class Announcer:
    """Tells of one call at a time."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._key: bytes | None = None
        self._when = 0.0
        self._is_told = False
        self._is_idle = True
        threading.Thread(target=self._watch, name="tools-runtime announcer", daemon=True).start()

    @contextmanager
    def call(self, key: bytes, waited: float, limit: float | None, at_once: bool) -> Generator[None]:
        """Tell of the call that runs inside of this, once it has run for a while or where it was late to begin."""
        key += b"%.3f" % waited
        with self._lock:
            self._key, self._is_told = key, False
            self._when = monotonic() + min(_PATIENCE, _PATIENCE if limit is None else limit / 2)
            if at_once or waited >= LATE:
                self._tell(key)
            elif self._is_idle:
                self._lock.notify()
        try:
            with _alarm(limit):
                yield
        finally:
            with self._lock:
                self._key = None
                if self._is_told:
                    _forget(key)

    def _tell(self, key: bytes) -> None:
        from ray.experimental.internal_kv import _internal_kv_put  # loaded already: this is a Ray worker

        self._is_told = True
        with suppress(Exception):  # the driver ends the call by its own clock
            _internal_kv_put(key, b"")

    def _watch(self) -> None:
        with self._lock:
            while True:
                self._is_idle = self._key is None or self._is_told
                self._lock.wait(None if self._is_idle else _TICK)
                if self._key is not None and not self._is_told and monotonic() >= self._when:
                    self._tell(self._key)


def _forget(key: bytes) -> None:
    from ray.experimental.internal_kv import _internal_kv_del  # as above

    with suppress(Exception):  # it is a few bytes
        _internal_kv_del(key)


@contextmanager
def _alarm(limit: float | None) -> Generator[None]:
    """Let the kernel end this process a moment after the limit, whatever the tool is at."""
    if limit is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, limit + _MARGIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
