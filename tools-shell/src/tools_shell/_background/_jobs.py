"""The background jobs of one owner: found by their ids, ended with the owner, and never too many."""

from __future__ import annotations

import os
import threading
import time
import weakref
from typing import TYPE_CHECKING, Self

from tools_core import ToolError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools_core import Context
    from tools_shell._background._job import Job

_PATIENCE = 10.0  # seconds that `close` waits for what it has killed


class Jobs:
    """The jobs of one owner, such as a conversation: `Context(state={"shell_jobs": Jobs()})`.

    Without it all calls of a process share one table. `close` ends all of them, and so does the end of the process.
    There are at most `most`; when there would be more, the one that ended first is forgotten with its output.
    """

    def __init__(self, *, most: int = 32) -> None:
        if most < 1:
            raise ValueError(f"most must be at least 1, got {most!r}")
        self._most = most
        self._lock = threading.Lock()
        self._entries: dict[str, Job | None] = {}  # None: it is about to start
        self._last = 0
        self._is_closed = False
        # At the end of the process they are ended by the thread that follows them.
        weakref.finalize(self, _kill_all, self._entries).atexit = False
        _tables.add(self)

    def start(self, make: Callable[[str], Job]) -> Job:
        """Make a job with a new id, if there is room for it; ToolError if there is not."""
        with self._lock:
            self._check_open()
            self._make_room()
            self._last += 1
            id = f"job-{self._last}"
            self._entries[id] = None
        try:
            job = make(id)
        except BaseException:
            with self._lock:
                del self._entries[id]
            raise
        with self._lock:
            self._entries[id] = job
        if self._is_closed:
            job.kill()
            self._check_open()
        return job

    def find(self, id: str) -> Job:
        """The job of that id; ToolError when there is none."""
        jobs = {job.about.id: job for job in self.all()}
        if id not in jobs:
            known = ", ".join(jobs) or "none, since jobs end with the process or conversation that started them"
            raise ToolError(f"no job {id!r}; there is {known}", "not_found")
        return jobs[id]

    def all(self) -> list[Job]:
        """All of them, the eldest first."""
        with self._lock:
            return [job for job in self._entries.values() if job is not None]

    def remove(self, job: Job) -> None:
        """Forget one that has ended."""
        with self._lock:
            self._entries.pop(job.about.id, None)

    def close(self) -> None:
        """End all jobs, wait for that, and start no more."""
        with self._lock:
            self._is_closed = True
        jobs = self.all()
        for job in jobs:
            job.kill()
        until = time.monotonic() + _PATIENCE
        for job in jobs:
            job.wait(until, lambda: False, lambda: False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise ToolError("the jobs of this owner are closed, and no more can be started", "unavailable")

    def _make_room(self) -> None:
        """Forget those that ended first, until there is room for one more."""
        jobs = [job for job in self._entries.values() if job is not None and job.ended is not None]
        jobs.sort(key=lambda job: job.ended or 0, reverse=True)
        while len(self._entries) >= self._most:
            if not jobs:
                message = f"{self._most} jobs are running, and there cannot be more: stop one with job_stop first"
                raise ToolError(message, "limit_exceeded")
            del self._entries[jobs.pop().about.id]

    def forget_after_fork(self) -> None:
        """What a fork of the process that owns the jobs has of them is not its own."""
        self._lock = threading.Lock()  # another thread may have held it
        self._entries.clear()


def _kill_all(entries: dict[str, Job | None]) -> None:
    """Called when nobody holds the table any more, at any moment and in any thread: it must not wait."""
    for job in list(entries.values()):
        if job is not None:
            job.kill()


_tables: weakref.WeakSet[Jobs] = weakref.WeakSet()


def _forget_after_fork() -> None:
    for table in list(_tables):
        table.forget_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)

_default = Jobs()


def jobs_of(context: Context) -> Jobs:
    """Whose jobs a call is about: those that its state names, else those of this process."""
    found = context.state.get("shell_jobs")
    return found if isinstance(found, Jobs) else _default
