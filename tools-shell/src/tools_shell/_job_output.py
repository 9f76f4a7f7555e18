"""The `job_output` tool."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Literal

from tools_core import Context, Limits, Result
from tools_shell._background._facts import output_of, status_of, time_to_wait
from tools_shell._background._reading import read, start_of
from tools_shell._background._search import Search
from tools_shell._facts import isolation_of
from tools_shell._job_tool import JobTool
from tools_shell._process._run import LONGEST

if TYPE_CHECKING:
    from tools_shell._background._job import Job
    from tools_shell._background._reading import Part

_WAIT = 30.0  # seconds, when there is something to wait for and nobody says how long


class JobOutput(JobTool):
    """Read what a background job has written, and whether it still runs; wait for more, for a text, or for its end.

    Returns `output` from `cursor` on, the `next_cursor` to read on from, and `status`: running, stopping, or ended with
    exit_code or signal. Unless `next` says that there is more already, that is all so far. Reading takes nothing away:
    any part can be read again while it is kept. `skipped_bytes` counts what is no longer kept.
    """

    read_only = True
    manages_timeout = True

    def execute(  # noqa: PLR0913  (its parameters are the model's words)
        self,
        id: Annotated[str, "The id of the job."],
        cursor: Annotated[
            int, "Where to read from: 0 is the beginning, next_cursor of the last read goes on, -2000 is near the end."
        ] = 0,
        limit: Annotated[int, "Bytes to return at most.", Limits(ge=16, le=1 << 18)] = 1 << 14,
        wait: Annotated[
            float | None,
            "Seconds to wait, for more output if nothing else; 0 by default, 30 with wait_for or until_end.",
            Limits(ge=0, le=LONGEST),
        ] = None,
        wait_for: Annotated[
            str, "Wait until this text is in the output after the cursor; `found` is the line.", Limits(max_length=1000)
        ] = "",
        regex: Annotated[bool, "wait_for is a regular expression (RE2), looked for in each line."] = False,
        until_end: Annotated[bool, "Wait until the job has ended."] = False,
        stream: Annotated[Literal["both", "stdout", "stderr"], "What to read; both are in order of arrival."] = "both",
        *,
        context: Context,
    ) -> Result:
        job = self.find(id, context)
        start = start_of(job, cursor, stream)
        search = Search(job, start, stream, wait_for, regex=regex) if wait_for else None
        if wait is None:
            wait = _WAIT if search or until_end else 0
        until = time.monotonic() + time_to_wait(wait, context)
        if search:
            search.wait(until, lambda: context.cancelled)
        else:

            def has_come() -> bool:
                """Whether there is something to read, which the beginning of a secret is not."""
                is_there = not until_end and job.output.end(stream) > start
                return is_there and read(job, start, limit, stream).next_cursor > start

            job.wait(until, lambda: context.cancelled, has_come)
            if cursor < 0:  # from the end as it is now
                start = start_of(job, cursor, stream)
        return _result(job, read(job, start, limit, stream), search)


def _result(job: Job, part: Part, search: Search | None) -> Result:
    facts = output_of(part)
    if search:
        facts["found"] = search.found
    facts |= status_of(job)
    if part.has_more:
        facts["next"] = f"there is more: read on from cursor {part.next_cursor}"
    return Result.ok(facts, metadata=isolation_of(job.about.isolation))
