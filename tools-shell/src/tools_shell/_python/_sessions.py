"""The Python sessions of this process: created on first use, used by one call at a time, ended with their run."""

from __future__ import annotations

import atexit
import os
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from tools_core import ToolError
from tools_shell._process._run import SLICE

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from tools_shell._output._output import Output
    from tools_shell._owner import Owner
    from tools_shell._python._kernel import Kernel

_MOST = 8  # idle sessions of a run in a workspace; the least recently used one is ended


class Key(NamedTuple):
    """Sessions by owner and by the settings that they were started with."""

    owner: Owner
    settings: str
    name: str


class Session:
    """A session, for the holder of its lock; once it `is_closed`, it ends with the call that holds it."""

    def __init__(self) -> None:
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
        lost = f" without the earlier state: the earlier one was lost ({self.why})" if self.why else ""
        self.kernel, self.why = start(), None
        return self.kernel, [f"this is a new session{lost}"]

    def end(self, why: str) -> None:
        if self.kernel is not None:
            self.kernel.end(why)
            self.why, self.kernel = why, None


class Sessions:
    """All sessions of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: dict[Key, Session] = {}

    @contextmanager
    def use(self, key: Key, until: float, cancelled: Callable[[], bool]) -> Generator[Session]:
        """Lock a session; ToolError if another call still has it at `until`."""
        session = self._session(key)
        while not session.lock.acquire(timeout=min(max(until - time.monotonic(), 0), SLICE)):
            if cancelled():
                raise ToolError(f"cancelled while session {key.name!r} was busy; nothing was run", "cancelled")
            if time.monotonic() >= until:
                message = f"session {key.name!r} is busy with another call and nothing was run: use another session"
                raise ToolError(message, "conflict")
        try:
            yield session
        finally:
            session.used = time.monotonic()
            if session.is_closed:  # `end_run` did not wait for this call
                session.end("its run has ended")
            session.lock.release()

    def _session(self, key: Key) -> Session:
        with self._lock:
            others = [
                session
                for one, session in self._sessions.items()
                if one.owner == key.owner and one != key and session.kernel is not None
            ]
            for session in sorted(others, key=lambda session: session.used)[: max(len(others) + 1 - _MOST, 0)]:
                if session.lock.acquire(blocking=False):
                    session.end(f"at most {_MOST} are kept")
                    session.lock.release()
            return self._sessions.setdefault(key, Session())

    def end_run(self, run_id: str | None = None) -> None:
        """End the sessions of a run, or all sessions; those in use end with their call."""
        with self._lock:
            keys = [key for key in self._sessions if run_id in (None, key.owner.run_id)]
            ended = [self._sessions.pop(key) for key in keys]
        for session in ended:
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


sessions = Sessions()
atexit.register(sessions.end_run)
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=sessions.reset_after_fork)
