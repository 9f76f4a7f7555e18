"""Named sessions: made when they are first used, one call at a time, closed when nobody wants them any more."""

from __future__ import annotations

import os
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

from tools_core import ToolError
from tools_shell._process._run import SLICE

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import TypeAlias

    from tools_shell._owner import Owner
    from tools_shell._session import Session

    Key: TypeAlias = tuple[Owner, str]

S = TypeVar("S", bound="Session[Any]")
_BETWEEN = 1.0  # seconds between two looks for sessions that are idle
_PATIENCE = 5.0  # seconds for calls to end whose sessions are closed
_REMEMBERED = 100  # names of sessions that were closed without being asked for


class Listed(NamedTuple):
    """A session as it is at a moment."""

    name: str
    is_busy: bool
    idle: float  # seconds since it was last used


class _Entry(Generic[S]):
    """The place of one session; who holds the lock may use it, unless it is closed.

    To leave it gives the lock back, which `Sessions.use` has taken; a generator would take twice the time for that.
    """

    __slots__ = ("is_closed", "lock", "session", "used")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.session: S | None = None
        self.used = time.monotonic()
        self.is_closed = False

    def end(self) -> None:
        """Close what is in it."""
        session, self.session = self.session, None
        if session is not None:
            session.close()

    def __enter__(self) -> S:
        return cast("S", self.session)  # which `use` has made, if need be

    def __exit__(self, *_: object) -> None:
        self.used = time.monotonic()
        try:
            if self.is_closed:  # by somebody who could not wait for us
                self.end()
        finally:
            self.lock.release()


class Sessions(Generic[S]):
    """At most `most` named sessions of each owner; those idle for `idle` seconds are closed when any is used next.

    `make(name, why)` makes one, where `why` says for what reason an earlier one of that name was closed without being
    asked for. When there are too many, the one that was not used for longest is closed. All are closed with the
    process, or when nobody holds the table any more.
    """

    def __init__(self, make: Callable[[str, str | None], S], *, most: int, idle: float) -> None:
        self._make = make
        self._most = most
        self._idle = idle
        self._lock = threading.Lock()
        self._entries: dict[Key, _Entry[S]] = {}
        self._closed: dict[Key, str] = {}
        self._looked = 0.0
        self._process = os.getpid()
        weakref.finalize(self, _close_all, self._entries, self._process)
        _tables.add(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy begins without sessions: they are of this process."""
        return _copied, (self._make, self._most, self._idle)

    def use(self, owner: Owner, name: str, until: float, cancelled: Callable[[], bool]) -> AbstractContextManager[S]:
        """Hold a session: `with sessions.use(...) as session:`; ToolError when another call does, at `until` still."""
        entry = self._held((owner, name), until, cancelled)
        if entry.session is None:
            try:
                entry.session = self._made((owner, name), entry)
            except BaseException:  # nobody will leave it
                entry.lock.release()
                raise
        return entry

    def listed(self, owner: Owner) -> list[Listed]:
        """The sessions of an owner, by name."""
        now = time.monotonic()
        with self._lock:
            entries = [(key[1], entry) for key, entry in sorted(self._entries.items()) if key[0] == owner]
            return [Listed(name, entry.lock.locked(), now - entry.used) for name, entry in entries]

    def close(self, owner: Owner, name: str, wait: float = 0) -> bool:
        """Close a session; while a call uses it, wait for `wait` seconds. Returns whether there was one."""
        with self._lock:
            entry = self._entries.get((owner, name))
        if entry is None:
            return False
        if not entry.lock.acquire(timeout=max(wait, 0)):
            raise _busy(name)
        try:
            self._end((owner, name), entry)
        finally:
            entry.lock.release()
        return True

    def close_all(self) -> None:
        """Close every session, also one that is in use."""
        _close_all(self._entries, self._process)

    def end_run(self, run_id: str) -> None:
        """Close the sessions of a run, also those in use."""
        with self._lock:
            keys = [key for key in self._entries if key[0].run_id == run_id]
            ended = {key: self._entries.pop(key) for key in keys}
            for key in [key for key in self._closed if key[0].run_id == run_id]:
                del self._closed[key]
        _close_all(ended, self._process)

    def _held(self, key: Key, until: float, cancelled: Callable[[], bool]) -> _Entry[S]:
        while True:
            with self._lock:
                entry = self._entries.get(key)
                surplus = self._surplus(key)
                if entry is None:
                    entry = self._entries[key] = _Entry()
            for other, closing, why in surplus:
                self._recycle(other, closing, why)
            _acquire(entry.lock, key[1], until, cancelled)
            if not entry.is_closed:
                return entry
            entry.lock.release()  # it was closed while we waited

    def _surplus(self, key: Key) -> list[tuple[Key, _Entry[S], str]]:
        """Take those that are to be closed, and hold them; `key` is wanted, and one that is in use is kept."""
        found: list[tuple[Key, _Entry[S], str]] = []
        now = time.monotonic()
        if key in self._entries and now - self._looked < _BETWEEN:
            return found
        self._looked = now
        own = sum(each[0] == key[0] for each in self._entries)
        for other, entry in sorted(self._entries.items(), key=lambda item: item[1].used):
            is_idle = now - entry.used > self._idle
            is_surplus = own >= self._most and key not in self._entries and other[0] == key[0]
            if (is_idle or (is_surplus and other != key)) and entry.lock.acquire(blocking=False):
                idle = f"it was not used for {self._idle:.0f} s"
                found.append((other, entry, idle if is_idle else f"there can be {self._most} sessions at most"))
                own -= other[0] == key[0]
        if key not in self._entries and own >= self._most:
            for _, entry, _ in found:
                entry.lock.release()
            names = ", ".join(name for owner, name in self._entries if owner == key[0])
            text = f"{self._most} sessions are in use, and there cannot be more: use one of {names}"
            raise ToolError(text, "limit_exceeded")
        return found

    def _recycle(self, key: Key, entry: _Entry[S], why: str) -> None:
        try:
            with self._lock:
                self._closed[key] = why
                while len(self._closed) > _REMEMBERED:
                    del self._closed[next(iter(self._closed))]
            self._end(key, entry)
        finally:
            entry.lock.release()

    def _end(self, key: Key, entry: _Entry[S]) -> None:
        entry.is_closed = True
        with self._lock:
            if self._entries.get(key) is entry:
                del self._entries[key]
        entry.end()

    def _made(self, key: Key, entry: _Entry[S]) -> S:
        with self._lock:
            why = self._closed.pop(key, None)
        try:
            return self._make(key[1], why)
        except BaseException:  # the next use tries again
            self._end(key, entry)
            raise

    def begin_anew(self) -> None:
        """In a fork of the process that owns the sessions: they are not its own, and threads may have held a lock."""
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._entries = {}
        weakref.finalize(self, _close_all, self._entries, self._process)


def _copied(make: Callable[[str, str | None], S], most: int, idle: float) -> Sessions[S]:
    return Sessions(make, most=most, idle=idle)


def _acquire(lock: threading.Lock, name: str, until: float, cancelled: Callable[[], bool]) -> None:
    if lock.acquire(blocking=False):
        return
    while (left := until - time.monotonic()) > 0:
        if cancelled():
            raise ToolError(f"the call was cancelled while session {name!r} was busy; nothing was run", "cancelled")
        if lock.acquire(timeout=min(left, SLICE)):
            return
    raise _busy(name)


def _busy(name: str) -> ToolError:
    message = f"session {name!r} is busy with another call and nothing was run: wait for that, or use another session"
    return ToolError(message, "conflict")


def _close_all(entries: dict[Key, _Entry[Any]], process: int) -> None:
    found = []
    while entries and process == os.getpid():
        found.append(entries.popitem()[1])
    for entry in found:
        entry.is_closed = True
        if entry.lock.locked() and entry.session is not None:
            entry.session.stop()
    until = time.monotonic() + _PATIENCE
    for entry in found:  # no two threads at once may use what is in it
        if entry.lock.acquire(timeout=max(until - time.monotonic(), 0)):
            try:
                entry.end()
            finally:
                entry.lock.release()


_tables: weakref.WeakSet[Sessions[Any]] = weakref.WeakSet()


def end_sessions(run_id: str) -> None:
    """Close all sessions of a run."""
    for table in list(_tables):
        table.end_run(run_id)


def _begin_anew_after_fork() -> None:
    for table in list(_tables):
        table.begin_anew()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_begin_anew_after_fork)
