"""The table of the background jobs of this process, by owner and id."""

from __future__ import annotations

import atexit
import os
import secrets
import threading
import time
from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_shell._process._run import GRACE
from tools_shell._sandbox._run_folder import remove_unnamed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tools_shell._jobs._job import Job
    from tools_shell._workspace import Owner

_MAX_OF_OWNER, _MAX = 32, 1000  # of one owner, and of all together
_TIMEOUT = 5.0  # seconds to wait for killed jobs


class Jobs:
    """Jobs by owner and id."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: dict[tuple[Owner, str], Job | None] = {}  # None while a job starts

    def start(self, owner: Owner, make: Callable[[str], Job]) -> Job:
        """Start a job under a new id; ToolError if the owner has too many running jobs, or the run ends meanwhile."""
        id = f"job-{secrets.token_hex(4)}"
        with self._lock:
            self._make_room(_MAX_OF_OWNER, owner)
            self._make_room(_MAX)
            self._jobs[owner, id] = None
        try:
            job = make(id)  # without the lock: it may be slow
        except BaseException:
            with self._lock:
                self._jobs.pop((owner, id), None)
            raise
        with self._lock:
            has_ended = (owner, id) not in self._jobs
            if not has_ended:
                self._jobs[owner, id] = job
        if has_ended:
            end([job])
            raise ToolError("the run has ended", "cancelled")
        return job

    def find(self, owner: Owner, id: str) -> Job:
        """Return the owner's job with an id; ToolError for another id."""
        jobs_by_id = {job.id: job for job in self.all(owner)}
        if id not in jobs_by_id:
            others = ", ".join(jobs_by_id) or "none: jobs end with the process or run that started them"
            raise ToolError(f"no job {id!r}; there is {others}", "not_found")
        return jobs_by_id[id]

    def all(self, owner: Owner) -> list[Job]:
        """Return the owner's jobs, oldest first."""
        with self._lock:
            return [job for (whose, _), job in self._jobs.items() if job is not None and whose == owner]

    def end_run(self, run_id: str | None = None) -> list[str]:
        """Kill and remove the jobs of a run, or all jobs, and wait for their end; describe those that were running."""
        with self._lock:
            keys = [key for key in self._jobs if run_id in (None, key[0].run_id)]
            removed = [job for job in map(self._jobs.pop, keys) if job is not None]
        running = _described(removed)
        end(removed)
        return running

    def running(self) -> list[str]:
        """Describe the jobs that run."""
        with self._lock:
            return _described(job for job in self._jobs.values() if job is not None)

    def reset_after_fork(self) -> None:
        """Drop the jobs in a fork of this process, which does not own them."""
        self._lock = threading.Lock()
        self._jobs = {}

    def _make_room(self, most: int, owner: Owner | None = None) -> None:
        """Remove the jobs that ended first until there is room for one more."""
        mine = {key: job for key, job in self._jobs.items() if owner in (None, key[0])}
        finished = sorted((job.started + job.ended.duration, key) for key, job in mine.items() if job and job.ended)
        surplus = len(mine) + 1 - most
        if surplus > len(finished):
            raise ToolError(f"{most} jobs are running, the maximum; stop one with job_stop first", "limit_exceeded")
        for _, key in finished[: max(surplus, 0)]:
            del self._jobs[key]


def _described(jobs: Iterable[Job]) -> list[str]:
    """Return id, age and command of the jobs that run."""
    return [f"{job.id} ({job.remark()}): {' '.join(job.script.split())}" for job in jobs if job.ended is None]


def end(running: Iterable[Job]) -> None:
    """Kill jobs, and wait for their end."""
    jobs = list(running)
    for seconds in (GRACE, _TIMEOUT):  # a second kill takes another path
        for job in jobs:
            job.kill()
        until = time.monotonic() + seconds
        for job in jobs:
            job.wait(until)


jobs = Jobs()
atexit.register(remove_unnamed)  # called after the next one
atexit.register(jobs.end_run)
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=jobs.reset_after_fork)
