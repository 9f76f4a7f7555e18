"""The `job_stop` tool; `end_run`, which ends everything that belongs to a run, `end_jobs` and `running_jobs`."""

from __future__ import annotations

from typing import Annotated

from tools_core import Context, Limits, Result
from tools_shell._bash._bash_sessions import end_sessions
from tools_shell._jobs._table import end, jobs
from tools_shell._python._python_sessions import python_sessions
from tools_shell._sandbox._run_folder import remove_run_folders
from tools_shell._tools._job_tool import JobTool, deadline, part_of

_LAST = 4000  # characters of output to show


class JobStop(JobTool):
    """End a background job and all its processes: SIGTERM, then SIGKILL after `grace` seconds.

    Returns its exit code and last output. A job that has already ended is not changed.
    """

    destructive = False
    idempotent = True
    manages_timeout = True

    def execute(
        self,
        id: Annotated[str, "Id of the job."],
        grace: Annotated[float, "Seconds between SIGTERM and SIGKILL.", Limits(ge=0, le=60)] = 2,
        *,
        context: Context,
    ) -> Result:
        job = self.find(id, context)
        job.terminate()
        job.wait(deadline(grace, context), lambda: context.cancelled)
        end([job])
        return part_of(job, job.position(-_LAST), {"id": id}, context)


def end_run(run_id: str) -> None:
    """End the jobs and the sessions of a run (`Context.run_id`) in all workspaces, and remove its temporary files."""
    end_sessions(run_id)
    python_sessions.end_run(run_id)
    jobs.end_run(run_id)
    remove_run_folders(run_id)


def end_jobs() -> list[str]:
    """End all jobs of this process, and describe those that were running: id, age and command."""
    return jobs.end_run()


def running_jobs() -> list[str]:
    """Describe the jobs of this process that run: id, age and command."""
    return jobs.running()
