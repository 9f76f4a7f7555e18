"""The `job_stop` tool."""

from __future__ import annotations

from typing import Annotated

from tools_core import Context, Limits, Result
from tools_shell._jobs._table import end
from tools_shell._tools._job_output import part_of
from tools_shell._tools._job_tool import JobTool, deadline

_LAST = 4000  # characters of output to show


class JobStop(JobTool):
    """End a background job with everything it started: SIGTERM first, SIGKILL after `grace` seconds.

    Returns how it ended and its last output. A job that has ended already is left as it is.
    """

    destructive = False
    idempotent = True
    manages_timeout = True

    def execute(
        self,
        id: Annotated[str, "The id of the job."],
        grace: Annotated[float, "Seconds to end by itself.", Limits(ge=0, le=60)] = 2,
        *,
        context: Context,
    ) -> Result:
        job = self.find(id, context)
        job.terminate()
        job.wait(deadline(grace, context), lambda: context.cancelled)
        end([job])
        return part_of(job, job.position(-_LAST), {"id": id})
