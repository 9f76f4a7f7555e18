"""The background jobs of this process: found by their owner and their random ids, and never too many."""

from __future__ import annotations

import os
import secrets
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from tools_core import ToolError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools_shell._background._job import Job
    from tools_shell._owner import Owner

_MOST = 1000  # of all owners together
_PATIENCE = 10.0  # seconds that `end_run` waits for what it has killed


class _Entry(NamedTuple):
    owner: Owner
    job: Job | None  # None while it starts


class Jobs:
    """Jobs by id. At the end of the process the thread that follows them ends them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry] = {}

    def start(self, owner: Owner, make: Callable[[str], Job], most: int) -> Job:
        """Make a job with a new id; ToolError when `most` jobs of the owner are running.

        When the owner would have more than `most`, the job that ended first is forgotten with its output.
        """
        id = f"job-{secrets.token_hex(8)}"
        with self._lock:
            self._make_room(most, owner)
            self._make_room(_MOST)
            self._entries[id] = _Entry(owner, None)
        try:
            job = make(id)
        except BaseException:  # its place is free again
            with self._lock:
                self._entries.pop(id, None)
            raise
        with self._lock:
            is_wanted = id in self._entries
            if is_wanted:
                self._entries[id] = _Entry(owner, job)
        if not is_wanted:
            job.kill()
            raise ToolError("the run has ended, and with it its jobs", "unavailable")
        return job

    def find(self, owner: Owner, id: str) -> Job:
        """Return the owner's job with that id; ToolError when there is none."""
        jobs = {job.about.id: job for job in self.all(owner)}
        if id not in jobs:
            known = ", ".join(jobs) or "none, since jobs end with the process or run that started them"
            raise ToolError(f"no job {id!r}; there is {known}", "not_found")
        return jobs[id]

    def all(self, owner: Owner) -> list[Job]:
        """Return the owner's jobs, the oldest first."""
        with self._lock:
            return [entry.job for entry in self._entries.values() if entry.owner == owner and entry.job is not None]

    def remove(self, job: Job) -> None:
        """Forget a job that has ended."""
        with self._lock:
            self._entries.pop(job.about.id, None)

    def end_run(self, run_id: str) -> None:
        """End the jobs of a run in all workspaces, forget them, and wait until they are gone."""
        with self._lock:
            ids = [id for id, entry in self._entries.items() if entry.owner.run_id == run_id]
            jobs = [job for id in ids if (job := self._entries.pop(id).job) is not None]
        for job in jobs:
            job.kill()
        until = time.monotonic() + _PATIENCE
        for job in jobs:
            job.wait(until, lambda: False, lambda: False)

    def begin_anew(self) -> None:
        """Forget the jobs in a fork of this process, which owns none of them."""
        self._lock = threading.Lock()  # another thread may have held it
        self._entries.clear()

    def _make_room(self, most: int, owner: Owner | None = None) -> None:
        """Forget the jobs that ended first until there is room for one more, among those of an owner or of all."""
        entries = {id: entry.job for id, entry in self._entries.items() if owner in (None, entry.owner)}
        ended = [(job.ended, id) for id, job in entries.items() if job is not None and job.ended is not None]
        surplus = len(entries) + 1 - most
        if surplus > len(ended):
            message = f"{most} jobs are running, and there cannot be more: stop one with job_stop first"
            raise ToolError(message, "limit_exceeded")
        for _, id in sorted(ended)[: max(surplus, 0)]:
            del self._entries[id]


jobs = Jobs()

if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=jobs.begin_anew)
