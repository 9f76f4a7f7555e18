"""`JobTool`, the base class of tools for existing jobs."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from tools_core import Result, Tool
from tools_shell._jobs._table import jobs
from tools_shell._output import MAX_SHOWN
from tools_shell._redactor import shown
from tools_shell._report import bracketed, isolation_of, shortened
from tools_shell._workspace import owner_of

if TYPE_CHECKING:
    from tools_core import Context
    from tools_shell._jobs._job import Job


_ROOM = 400  # characters for remarks


class JobTool(Tool, abstract=True):
    """A tool for the jobs of a run in a workspace."""

    stateful = True
    tags = ("shell",)

    def __init__(self, root: str | os.PathLike[str] | None = None) -> None:
        """`root` is the workspace of the jobs; by default that of the call."""
        self._root = None if root is None else os.fspath(root)

    def find(self, id: str, context: Context) -> Job:
        """Return the job with an id; ToolError if the run has no such job in this workspace."""
        return jobs.find(owner_of(context, self._root), id)


def deadline(seconds: float, context: Context) -> float:
    """Return the time at which to stop waiting: after `seconds`, or at the caller's deadline."""
    remaining = context.remaining
    return time.monotonic() + (seconds if remaining is None else min(seconds, remaining))


def part_of(job: Job, start: int, record: dict[str, Any], context: Context) -> Result:
    """Return the status of a job and its output from a position."""
    status, remark = job.status(), job.remark()  # before the output, which is then complete if the job has ended
    room = MAX_SHOWN if context.max_characters is None else min(context.max_characters - _ROOM, MAX_SHOWN)
    first, text, next_cursor = job.read(start, max(room, _ROOM))
    record |= {**status, "output": text, "cursor": first, "next_cursor": next_cursor}
    remarks = [f"{job.id} {remark}; next cursor {next_cursor}"]
    if first > start:
        record["skipped"] = first - start
        remarks.append(f"{first - start:,} earlier characters are no longer kept")
    if next_cursor < job.end:
        record["has_more"] = True
        remarks.append(f"there is more output: read on from cursor {next_cursor}")
    if "found" in record and record["found"] is None:
        remarks.append("the text was not found")
    remarks += [str(status[name]) for name in ("background", "survivors") if name in status]
    warnings = job.isolation.warnings()
    return Result.ok(
        record,
        content=bracketed(shown(text), [*remarks, *shortened(warnings), *job.isolation.news()]),
        metadata=isolation_of(job.isolation, warnings),
    )
