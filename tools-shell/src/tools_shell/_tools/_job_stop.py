"""The `job_stop` tool."""

from __future__ import annotations

from typing import Annotated

from tools_core import Context, Limits, Result
from tools_shell._tools._job_output import part_of
from tools_shell._tools._job_tool import JobTool, deadline

_LAST = 4000  # bytes of output that are shown
_KILL = 6.0  # seconds for killed processes to be gone


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
        job.stop(grace)
        job.wait(deadline(grace + _KILL, context), lambda: context.cancelled, lambda: False)
        return part_of(job, job.position(-_LAST), {"id": id})
