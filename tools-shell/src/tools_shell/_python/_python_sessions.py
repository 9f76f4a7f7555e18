"""The Python sessions of this process: started on first use, used by one call at a time, ended with their run."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from tools_core import ToolError
from tools_shell._process._run import SLICE
from tools_shell._sandbox._run_folder import remove_unnamed

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from tools_shell._output import Output
    from tools_shell._python._kernel import Kernel
    from tools_shell._workspace import Owner

_MAX_OF_OWNER, _MAX = 8, 16  # kernels of a run in a workspace, and of all runs; the least recently used one is ended

_SURPLUS = f"at most {_MAX_OF_OWNER} sessions of a run and {_MAX} in total exist"


class Key(NamedTuple):
    """Sessions by owner and by the settings that they were started with."""

    owner: Owner
    settings: str
    name: str


class PythonSession:
    """A session, for the holder of its lock; once it `is_closed`, it ends with the call that holds it."""

    def __init__(self, owner: Owner) -> None:
        self.owner = owner
        self.lock = threading.Lock()
        self.kernel: Kernel | None = None
        self.why: str | None = None  # an earlier kernel of this session has ended
        self.used = time.monotonic()
        self.is_closed = False

    def ready(self, start: Callable[[], Kernel], output: Output) -> tuple[Kernel, list[str]]:
        """Return the kernel, started if necessary, and notes about that."""
        if self.kernel is not None and not self.kernel.is_alive(output):
            self.why, self.kernel = self.kernel.lost, None
        if self.kernel is not None:
            return self.kernel, []
        lost = f" without the earlier variables, which were lost ({self.why})" if self.why else ""
        self.kernel, self.why = start(), None
        return self.kernel, [f"this is a new session{lost}"]

    def end(self, why: str) -> None:
        if (kernel := self.drop(why)) is not None:
            kernel.end(why)

    def drop(self, why: str) -> Kernel | None:
        """Return the kernel for the caller to end."""
        kernel = self.kernel
        if kernel is not None:
            self.why, self.kernel = why, None
        return kernel

    @property
    def has_process(self) -> bool:
        """Return whether the session has a kernel, or a call that may start one."""
        return self.kernel is not None or self.lock.locked()


class PythonSessions:
    """All sessions of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # only of the table: kernels start and end without it
        self._sessions: dict[Key, PythonSession] = {}

    @contextmanager
    def use(self, key: Key, until: float, cancelled: Callable[[], bool]) -> Generator[PythonSession]:
        """Lock a session; ToolError if another call still has it at `until`."""
        session, is_locked = self._claim(key)
        while not (is_locked or session.lock.acquire(timeout=min(max(until - time.monotonic(), 0), SLICE))):
            if cancelled():
                raise ToolError(f"cancelled while session {key.name!r} was busy; nothing was run", "cancelled")
            if time.monotonic() >= until:
                message = f"session {key.name!r} is busy with another call; nothing was run. Use another session"
                raise ToolError(message, "conflict")
        try:
            yield session
        finally:
            session.used = time.monotonic()
            if session.is_closed:  # `end_run` did not wait for this call
                session.end("its run has ended")
            session.lock.release()

    def _claim(self, key: Key) -> tuple[PythonSession, bool]:
        """Return a session, and whether it is locked for this call, with room for its kernel."""
        surplus: list[Kernel] = []
        try:
            with self._lock:
                session = self._sessions.setdefault(key, PythonSession(key.owner))
                is_locked = session.lock.acquire(blocking=False)
                if is_locked and session.kernel is None:
                    others = [other for other in self._sessions.values() if other is not session]
                    has_room = _make_room(
                        [other for other in others if other.owner == key.owner], _MAX_OF_OWNER, surplus
                    )
                    if not (has_room and _make_room(others, _MAX, surplus)):
                        session.lock.release()
                        message = "too many Python sessions are running code; try again when one has finished"
                        raise ToolError(message, "limit_exceeded")
        finally:
            for kernel in surplus:
                kernel.end(_SURPLUS)
        return session, is_locked

    def end_run(self, run_id: str | None = None) -> None:
        """End the sessions of a run, or all sessions; a busy session ends with its call."""
        with self._lock:
            keys = [key for key in self._sessions if run_id in (None, key.owner.run_id)]
            sessions = [self._sessions.pop(key) for key in keys]
        for session in sessions:
            session.is_closed = True
            if session.lock.acquire(blocking=False):
                session.end("its run has ended")
                session.lock.release()
            elif (kernel := session.kernel) is not None:
                kernel.process.kill()  # a waiting call notices the end

    def reset_after_fork(self) -> None:
        """Drop all sessions in a fork of this process."""
        self._lock = threading.Lock()
        self._sessions = {}


def _make_room(others: list[PythonSession], limit: int, surplus: list[Kernel]) -> bool:
    """Move surplus kernels of idle sessions to a list, largest run first; return whether that makes room for one."""
    others = [other for other in others if other.has_process]
    excess = len(others) + 1 - limit
    sizes = Counter(other.owner for other in others)
    for other in sorted(others, key=lambda other: (-sizes[other.owner], other.used)):
        if excess > 0 and other.lock.acquire(blocking=False):
            if (kernel := other.drop(_SURPLUS)) is not None:
                surplus.append(kernel)
            other.lock.release()
            excess -= 1
    return excess <= 0


python_sessions = PythonSessions()
atexit.register(remove_unnamed)  # called after the next one
atexit.register(python_sessions.end_run)
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=python_sessions.reset_after_fork)
