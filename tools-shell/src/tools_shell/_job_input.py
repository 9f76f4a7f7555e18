"""The `job_input` tool."""

from __future__ import annotations

import select
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

from tools_core import Context, Limits, Result, ToolError
from tools_shell._background._facts import status_of, time_to_wait
from tools_shell._background._terminal import check_lines, typed, waits_for_lines
from tools_shell._facts import isolation_of
from tools_shell._job_tool import JobTool
from tools_shell._process._pump import begun, end_of_file
from tools_shell._process._run import SLICE
from tools_shell._text import encoded

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from tools_shell._background._job import Job


class JobInput(JobTool):
    """Write to the standard input of a background job that was started with stdin or tty.

    A line needs its newline. With tty, `keys` are pressed after the text: enter, tab, escape, backspace, up, down,
    left, right, home, end, delete, page-up, page-down and ctrl-a to ctrl-z; ctrl-c interrupts. Waits while the job does
    not take it, for `wait` seconds at most, and says how many bytes went in.
    """

    destructive = True
    open_world = True
    requires_approval = True
    manages_timeout = True

    def execute(
        self,
        id: Annotated[str, "The id of the job."],
        text: Annotated[str, "What to write."] = "",
        keys: Annotated[list[str] | None, "Keys to press then, one after the other; with tty only."] = None,
        end: Annotated[bool, "End its input then: it reads no more after this."] = False,
        wait: Annotated[float, "Seconds to wait for it to take all.", Limits(ge=0, le=60)] = 5,
        *,
        context: Context,
    ) -> Result:
        job = self.find(id, context)
        data = _data(job, text, keys or [], end=end)
        until = time.monotonic() + time_to_wait(wait, context)
        with _input(job, until, lambda: context.cancelled):
            if job.about.terminal:
                _check_terminal(job, data)
                data += end_of_file(begun(data, job.begun)) if end else b""
            given = _give(job, data, until, lambda: context.cancelled)
            job.begun = begun(data[:given], job.begun)
            if end and given == len(data):
                job.close_stdin()
        return _result(job, given, len(data))


def _data(job: Job, text: str, keys: list[str], *, end: bool) -> bytes:
    """The bytes to write; ToolError when there is nothing to do, or it cannot be done."""
    if not (text or keys or end):
        raise ToolError("there is nothing to write: give text, keys or end", "validation_error")
    if not job.about.has_stdin:
        message = f"{job.about.id} has no standard input: start it with stdin (or tty) set to true"
        raise ToolError(message, "unavailable")
    if keys and not job.about.terminal:
        raise ToolError(f"{job.about.id} has no terminal for keys: start it with tty set to true", "unavailable")
    if job.stdin is None:
        state = "has ended" if job.ended is not None else "does not read its input any more"
        raise ToolError(f"{job.about.id} {state}", "unavailable")
    return encoded(text) + b"".join(typed(key) for key in keys)


def _check_terminal(job: Job, data: bytes) -> None:
    """ToolError for what it would lose."""
    with job.changed:
        if (terminal := job.stdin) is not None:
            if waits_for_lines(terminal):
                check_lines(data, job.begun)
            else:
                job.begun = 0  # it has no lines


@contextmanager
def _input(job: Job, until: float, cancelled: Callable[[], bool]) -> Generator[None]:
    """Be the only one who writes, so that two texts never mix."""
    while not job.input.acquire(timeout=SLICE):
        if cancelled() or time.monotonic() >= until:
            message = f"another call is still writing to {job.about.id}, and nothing was written: try again"
            raise ToolError(message, "conflict")
    try:
        yield
    finally:
        job.input.release()


def _give(job: Job, data: bytes, until: float, cancelled: Callable[[], bool]) -> int:
    """Write as much as it takes; returns how many bytes."""
    given = 0
    while given < len(data):
        count = job.write(_piece(data, given))
        if count is None:
            break
        given += count
        if count == 0 and not _has_room(job, until, cancelled):
            break
    return given


def _piece(data: bytes, start: int) -> bytes:
    """Whole characters, few enough that a pipe takes all of them or none."""
    stop = start + select.PIPE_BUF
    while stop < len(data) and data[stop] & 0xC0 == 0x80:
        stop -= 1
    return data[start:stop]


def _has_room(job: Job, until: float, cancelled: Callable[[], bool]) -> bool:
    """Wait until it may take more; False when it is not worth waiting any longer."""
    left = until - time.monotonic()
    if left <= 0 or cancelled() or (descriptor := job.stdin) is None:
        return False
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)  # should it be closed meanwhile, `write` will say so
    poll.poll(min(left, SLICE) * 1000)
    return True


def _result(job: Job, given: int, size: int) -> Result:
    facts = {"id": job.about.id, "written_bytes": given, **status_of(job)}
    if given < size:
        facts["unwritten_bytes"] = size - given
        why = "it takes no more" if job.stdin is None or facts["status"] == "ended" else "it did not take more in time"
        facts["next"] = f"{why}: the last {size - given} bytes did not go in"
    return Result.ok(facts, metadata=isolation_of(job.about.isolation))
