"""How a worker tells that a call has begun: Ray itself tells its driver only when a task has ended.

Calls that end soon tell nothing, which would cost each a request to the head: a thread tells of those that take longer.
One that holds the interpreter lock from its beginning to its limit so is never told of: a timer of the kernel ends it.
"""

from __future__ import annotations

import signal
import threading
from contextlib import suppress
from time import monotonic, sleep

_PATIENCE = 5.0  # the longest that a call may run untold
_TICK = 0.05
_MARGIN = 0.15  # seconds for the driver to end a call at its limit by itself
_LEEWAY = 1.0  # between the clocks of two machines


class Begun:
    """A call that runs, and whether that was told."""

    __slots__ = ("is_told", "key", "when")

    def __init__(self, key: bytes, when: float) -> None:
        self.key = key
        self.when = when
        self.is_told = False


class Announcer:
    """Tells of one call at a time; what each call goes through takes no lock, for most are over in no time."""

    def __init__(self) -> None:
        self._telling = threading.Lock()
        self._call: Begun | None = None
        self._wake = threading.Event()
        self._is_asleep = False
        self._is_main = threading.current_thread() is threading.main_thread()
        threading.Thread(target=self._watch, name="tools-runtime announcer", daemon=True).start()

    def begin(self, key: bytes, waited: float, limit: float | None, wait: float) -> None:
        """Tell of the call that begins now once it has run for a while, or until `end`.

        At once, and before it does anything, where it may still run when the driver would give it up as never begun,
        which is `wait` seconds after it was sent. Let the kernel end this process a moment after the limit.
        """
        patience = _PATIENCE if limit is None else min(_PATIENCE, limit / 2)
        call = self._call = Begun(key + b"%.3f" % waited, monotonic() + patience)
        if limit is None or waited + limit + _LEEWAY >= wait:
            self._tell(call)
        elif self._is_asleep:
            self._wake.set()
        if limit is not None and self._is_main:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)  # a tool may have changed it
            signal.setitimer(signal.ITIMER_REAL, limit + _MARGIN)

    def end(self) -> None:
        """The call that began last has ended."""
        if self._is_main:
            signal.setitimer(signal.ITIMER_REAL, 0)
        call, self._call = self._call, None
        # Who tells looks at `_call` once it has the lock: from here on it does not begin to tell of this one.
        if call is not None and (call.is_told or self._telling.locked()):
            with self._telling:
                if call.is_told:
                    _forget(call.key)

    def _tell(self, call: Begun) -> None:
        from ray.experimental.internal_kv import _internal_kv_put  # loaded already: this is a Ray worker

        with self._telling, suppress(Exception):  # the driver ends the call by its own clock
            if self._call is call:
                call.is_told = True
                _internal_kv_put(call.key, b"")

    def _watch(self) -> None:
        while True:
            call = self._call
            if call is None or call.is_told:
                self._is_asleep = True
                if self._call is call:  # else one has begun that has not seen this
                    self._wake.wait()
                self._is_asleep = False
                self._wake.clear()
            sleep(_TICK)
            call = self._call
            if call is not None and not call.is_told and monotonic() >= call.when:
                self._tell(call)


def _forget(key: bytes) -> None:
    from ray.experimental.internal_kv import _internal_kv_del  # as above

    with suppress(Exception):  # it is a few bytes
        _internal_kv_del(key)
