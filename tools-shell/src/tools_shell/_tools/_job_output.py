"""The `job_output` tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from tools_core import Context, Limits, Result
from tools_shell._jobs._table import jobs
from tools_shell._process._run import LONGEST
from tools_shell._tools._job_tool import JobTool, deadline, part_of
from tools_shell._workspace import owner_of

if TYPE_CHECKING:
    from tools_shell._jobs._job import Job

_WAIT = 30.0  # seconds, if there is something to wait for
_COMMAND = 200  # characters of a command in the list


class JobOutput(JobTool):
    """Read the output of a background job and its status; without id, list all jobs.

    Can wait for new output, for a text such as "listening on", or for the end of the job. Returns up to 30,000
    characters from `cursor` on, and the next cursor. Kept output can be read again.
    """

    read_only = True
    manages_timeout = True

    def execute(
        self,
        id: Annotated[str, "Id of the job; empty to list all jobs."] = "",
        cursor: Annotated[
            int, "Offset to read from: the previous next cursor, or 0; negative offsets count from the end."
        ] = 0,
        wait: Annotated[
            float,
            "Seconds to wait; 0 means 30 with wait_for or until_end, else none.",
            Limits(ge=0, le=LONGEST),
        ] = 0,
        wait_for: Annotated[str, "Wait until the output contains this text.", Limits(max_length=1000)] = "",
        until_end: Annotated[bool, "Wait for the end of the job."] = False,
        *,
        context: Context,
    ) -> Result:
        if not id:
            return _listed(jobs.all(owner_of(context, self._root)))
        job = self.find(id, context)
        start = job.position(cursor)
        until = deadline(wait or (_WAIT if wait_for or until_end else 0), context)
        record: dict[str, Any] = {"id": id}
        if wait_for:
            job.wait(until, lambda: context.cancelled, lambda: job.find(wait_for, start) is not None)
            record["found"] = job.find(wait_for, start)
        else:
            job.wait(until, lambda: context.cancelled, lambda: not until_end and job.end > start)
            if cursor < 0:  # relative to the current end
                start = job.position(cursor)
        return part_of(job, start, record, context)


def _listed(jobs_of_owner: list[Job]) -> Result:
    rows: list[dict[str, Any]] = []
    lines: list[str] = []
    for job in jobs_of_owner:
        command = " ".join(job.script.split())
        command = command if len(command) <= _COMMAND else f"{command[: _COMMAND - 3]}..."
        facts = {"id": job.id, "command": command, **job.status()}
        rows.append({**facts, "age": round(job.age, 1), "output_size": job.end})
        lines.append(f"{job.id} ({job.remark()}): {command}")
    return Result.ok(rows, content="\n".join(lines) or "[no jobs; they end with the run that started them]")
