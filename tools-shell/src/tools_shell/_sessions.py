"""Named sessions: made when they are first used, one call at a time, closed when nobody wants them any more."""

from __future__ import annotations

import os
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Self, TypeVar

from tools_core import ToolError
from tools_shell._process._run import SLICE

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from tools_core import Context

T = TypeVar("T")
_BETWEEN = 1.0  # seconds between two looks for sessions that are idle
_PATIENCE = 5.0  # seconds for calls to end whose sessions are closed
_REMEMBERED = 100  # names of sessions that were closed without being asked for


class Listed(NamedTuple):
    """A session as it is at a moment."""

    name: str
    is_busy: bool
    idle: float  # seconds since it was last used


class _Entry(Generic[T]):
    """The place of one session; who holds the lock may use what is in it, unless it is closed."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.value: T | None = None
        self.used = time.monotonic()
        self.is_closed = False

    def end(self, close: Callable[[T], None]) -> None:
        """End what is in it."""
        value, self.value = self.value, None
        if value is not None:
            close(value)


class _Use(Generic[T]):
    """Gives a session back when it is left; a generator would take twice the time."""

    __slots__ = ("_close", "_entry", "_value")

    def __init__(self, entry: _Entry[T], value: T, close: Callable[[T], None]) -> None:
        self._close = close
        self._entry = entry
        self._value = value

    def __enter__(self) -> T:
        return self._value

    def __exit__(self, *_: object) -> None:
        self._entry.used = time.monotonic()
        try:
            if self._entry.is_closed:  # by somebody who could not wait for us
                self._entry.end(self._close)
        finally:
            self._entry.lock.release()


class Sessions(Generic[T]):
    """At most `most` sessions by name; one that is idle for `idle` seconds is closed when any is used next.

    `make(name, why)` makes one, where `why` says for what reason an earlier one of that name was closed without being
    asked for; `close` ends one, and `stop` has the call that uses one end soon. When there are too many, the one that
    was not used for longest is closed. All are closed with the process, or when nobody holds the table any more.
    """

    def __init__(
        self,
        make: Callable[[str, str | None], T],
        close: Callable[[T], None],
        *,
        stop: Callable[[T], None] = lambda _value: None,
        most: int = 8,
        idle: float = 1800,
    ) -> None:
        self._make = make
        self._close = close
        self._stop = stop
        self._most = most
        self._idle = idle
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry[T]] = {}
        self._closed: dict[str, str] = {}
        self._looked = 0.0
        self._owner = os.getpid()
        weakref.finalize(self, _close_all, self._entries, close, stop, self._owner)

    def use(
        self,
        name: str,
        wait: float,
        *,
        busy: Literal["wait", "refuse"] = "wait",
        cancelled: Callable[[], bool] = lambda: False,
    ) -> _Use[T]:
        """Hold a session: `with sessions.use(...) as session:`.

        While another call holds it, wait for `wait` seconds at most, or with `busy="refuse"` raise ToolError at once.
        """
        entry = self._held(name, time.monotonic() + (wait if busy == "wait" else 0), cancelled)
        if entry.value is None:
            try:
                entry.value = self._made(name, entry)
            except BaseException:
                entry.lock.release()
                raise
        return _Use(entry, entry.value, self._close)

    def listed(self) -> list[Listed]:
        """All of them, by name."""
        now = time.monotonic()
        with self._lock:
            self._forget_after_fork()
            return [
                Listed(name, entry.lock.locked(), now - entry.used) for name, entry in sorted(self._entries.items())
            ]

    def names(self) -> list[str]:
        """The names of all of them."""
        return [listed.name for listed in self.listed()]

    def close(self, name: str, wait: float = 0) -> bool:
        """Close a session; while a call uses it, wait for `wait` seconds. Returns whether there was one."""
        with self._lock:
            self._forget_after_fork()
            entry = self._entries.get(name)
        if entry is None:
            return False
        if not entry.lock.acquire(timeout=max(wait, 0)):
            raise _busy(name)
        try:
            self._end(name, entry)
        finally:
            entry.lock.release()
        return True

    def close_all(self) -> None:
        """Close every session, also one that is in use."""
        _close_all(self._entries, self._close, self._stop, self._owner)

    def _held(self, name: str, until: float, cancelled: Callable[[], bool]) -> _Entry[T]:
        while True:
            with self._lock:
                self._forget_after_fork()
                entry = self._entries.get(name)
                surplus = self._surplus(name)
                if entry is None:
                    entry = self._entries[name] = _Entry()
            for other, closing, why in surplus:
                self._recycle(other, closing, why)
            _acquire(entry.lock, name, until, cancelled)
            if not entry.is_closed:
                return entry
            entry.lock.release()  # it was closed while we waited

    def _surplus(self, name: str) -> list[tuple[str, _Entry[T], str]]:
        """Take those that are to be closed, and hold them; `name` is wanted, and one that is in use is kept."""
        found: list[tuple[str, _Entry[T], str]] = []
        now = time.monotonic()
        if name in self._entries and now - self._looked < _BETWEEN:
            return found
        self._looked = now
        for other, entry in sorted(self._entries.items(), key=lambda item: item[1].used):
            is_idle = now - entry.used > self._idle
            has_room = len(self._entries) - len(found) < self._most or name in self._entries
            if not is_idle and (has_room or other == name):
                continue
            if entry.lock.acquire(blocking=False):
                idle = f"it was not used for {self._idle:.0f} s"
                found.append((other, entry, idle if is_idle else f"there can be {self._most} sessions at most"))
        if name not in self._entries and len(self._entries) - len(found) >= self._most:
            for _, entry, _ in found:
                entry.lock.release()
            text = f"{self._most} sessions are in use, and there cannot be more: use one of {', '.join(self._entries)}"
            raise ToolError(text, "limit_exceeded")
        return found

    def _recycle(self, name: str, entry: _Entry[T], why: str) -> None:
        try:
            with self._lock:
                self._closed[name] = why
                while len(self._closed) > _REMEMBERED:
                    del self._closed[next(iter(self._closed))]
            self._end(name, entry)
        finally:
            entry.lock.release()

    def _end(self, name: str, entry: _Entry[T]) -> None:
        entry.is_closed = True
        with self._lock:
            if self._entries.get(name) is entry:
                del self._entries[name]
        entry.end(self._close)

    def _made(self, name: str, entry: _Entry[T]) -> T:
        with self._lock:
            why = self._closed.pop(name, None)
        try:
            return self._make(name, why)
        except BaseException:
            self._end(name, entry)
            raise

    def _forget_after_fork(self) -> None:
        """What a fork of the process that owns the sessions has of them is not its own."""
        if self._owner != os.getpid():
            self._owner = os.getpid()
            self._entries = {}
            weakref.finalize(self, _close_all, self._entries, self._close, self._stop, self._owner)


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


def _close_all(
    entries: dict[str, _Entry[Any]], close: Callable[[Any], None], stop: Callable[[Any], None], owner: int
) -> None:
    found = []
    while entries and owner == os.getpid():
        found.append(entries.popitem()[1])
    for entry in found:
        entry.is_closed = True
        if entry.lock.locked() and entry.value is not None:
            stop(entry.value)
    until = time.monotonic() + _PATIENCE
    for entry in found:  # no two threads at once may use what is in it
        if entry.lock.acquire(timeout=max(until - time.monotonic(), 0)):
            try:
                entry.end(close)
            finally:
                entry.lock.release()


class ShellSessions:
    """The sessions of one owner, such as a conversation: `Context(state={"shell_sessions": ShellSessions()})`.

    Without it the calls of a tool share the tool's own. `close` ends all of them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tables: dict[Hashable, Sessions[Any]] = {}

    def __reduce__(self) -> tuple[type[ShellSessions], tuple[()]]:
        """A copy, in this process or another, begins without sessions: they are this owner's."""
        return ShellSessions, ()

    def table(self, key: Hashable, make: Callable[[], Sessions[T]]) -> Sessions[T]:
        """The table of a tool, made when it is first wanted."""
        with self._lock:
            if key not in self._tables:
                self._tables[key] = make()
            return self._tables[key]

    def close(self) -> None:
        """End all sessions; the next use begins anew."""
        with self._lock:
            tables = list(self._tables.values())
            self._tables.clear()
        for table in tables:
            table.close_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def sessions_of(context: Context, own: ShellSessions) -> ShellSessions:
    """Whose sessions a call uses: those that its state names, else the tool's `own`."""
    found = context.state.get("shell_sessions")
    return found if isinstance(found, ShellSessions) else own
