"""The `job_list` tool."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from tools_core import Context  # noqa: TC001  (the annotations of `execute` are evaluated)
from tools_shell._background._facts import status_of
from tools_shell._background._jobs import jobs
from tools_shell._job_tool import JobTool
from tools_shell._owner import owner_of

if TYPE_CHECKING:
    from tools_shell._background._job import Job

_SHOWN = 200  # characters of a command


class JobList(JobTool):
    """List the background jobs: the running ones, and those that have ended and whose output can still be read."""

    read_only = True

    def execute(self, *, context: Context) -> list[dict[str, Any]]:
        now = time.monotonic()
        return [_row(job, now) for job in jobs.all(owner_of(context, self._root))]


def _row(job: Job, now: float) -> dict[str, Any]:
    command = " ".join(job.about.command.split())
    named = {"name": job.about.name} if job.about.name else {}
    return {
        "id": job.about.id,
        **named,
        "command": command if len(command) <= _SHOWN else f"{command[: _SHOWN - 3]}...",
        **status_of(job),
        "age": round(now - job.started, 1),
        "output_bytes": job.output.end("both"),
    }
