"""The `job_stop` tool."""

from __future__ import annotations

import time
from typing import Annotated

from tools_core import Context, Limits, Result
from tools_shell._background._facts import output_of, status_of, time_to_wait
from tools_shell._background._jobs import jobs
from tools_shell._background._reading import read, start_of
from tools_shell._facts import isolation_of
from tools_shell._job_tool import JobTool

_LAST = 4000  # bytes of output that are shown
_KILL = 6.0  # seconds for what is ended by force to be gone


class JobStop(JobTool):
    """End a background job with all that it started: by request (SIGTERM), and after `grace` seconds by force.

    Returns how it ended and the end of its output, the rest of which can still be read. A job that has ended already
    is left as it is.
    """

    destructive = False
    idempotent = True
    manages_timeout = True

    def execute(
        self,
        id: Annotated[str, "The id of the job."],
        grace: Annotated[float, "Seconds that it has for ending by itself.", Limits(ge=0, le=60)] = 2,
        remove: Annotated[bool, "Forget the job and its output, too."] = False,
        *,
        context: Context,
    ) -> Result:
        job = self.find(id, context)
        if job.ended is None:
            job.stop(grace)
        until = time.monotonic() + time_to_wait(grace + _KILL, context)
        job.wait(until, lambda: context.cancelled, lambda: False)
        part = read(job, start_of(job, -_LAST, "both"), _LAST, "both")
        facts = {"id": id, **status_of(job), **output_of(part)}
        if job.ended is None:
            facts["next"] = "it is being ended, by force after its grace: job_output with until_end tells when it is"
        elif remove:
            jobs.remove(job)
            facts["removed"] = True
        return Result.ok(facts, metadata=isolation_of(job.about.isolation))
