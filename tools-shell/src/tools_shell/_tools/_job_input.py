"""The `job_input` tool."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Annotated, Any

from tools_core import Context, Result, ToolError
from tools_shell._redactor import encoded
from tools_shell._report import bracketed, isolation_of
from tools_shell._tools._job_tool import JobTool, deadline

if TYPE_CHECKING:
    from tools_shell._jobs._job import Job

_WAIT = 5.0  # seconds for the job to read all
_KEYS = {
    "enter": b"\r",
    "tab": b"\t",
    "escape": b"\x1b",
    "backspace": b"\x7f",
    "up": b"\x1b[A",
    "down": b"\x1b[B",
    "right": b"\x1b[C",
    "left": b"\x1b[D",
    "home": b"\x1b[H",
    "end": b"\x1b[F",
    "delete": b"\x1b[3~",
    "page-up": b"\x1b[5~",
    "page-down": b"\x1b[6~",
    **{f"ctrl-{letter}": bytes([number]) for number, letter in enumerate(string.ascii_lowercase, 1)},
}
_END_OF_FILE = b"\x04\x04"  # the first one only completes a started line (termios(3), VEOF)


class JobInput(JobTool):
    """Write to the standard input of a background job that was started with stdin or tty.

    Use it to answer prompts and to drive interactive programs; job_output reads what they print. Returns the number
    of bytes that the job has read; it fails for a job that has ended. End each line with a newline. With tty,
    `keys` are pressed after the text: enter, tab, escape, backspace, up, down, left, right, home, end, delete,
    page-up, page-down, and ctrl-a to ctrl-z; ctrl-c interrupts.
    """

    destructive = True
    open_world = True
    requires_approval = True
    manages_timeout = True

    def execute(
        self,
        id: Annotated[str, "Id of the job."],
        text: Annotated[str, "Text to write."] = "",
        keys: Annotated[list[str] | None, "Keys to press after the text, with tty."] = None,
        end: Annotated[bool, "Close the input after the text."] = False,
        *,
        context: Context,
    ) -> Result:
        job = self.find(id, context)
        data = _data(job, text, keys or [], end=end)
        if end and job.terminal:
            data += _END_OF_FILE
        size = job.write(data, deadline(_WAIT, context), lambda: context.cancelled, is_last=end)
        record: dict[str, Any] = {"id": id, "written_bytes": size, **job.status()}
        remarks = [f"{size} bytes written to {id}"]
        if size < len(data):
            record["unwritten_bytes"] = len(data) - size
            why = "its input is closed" if job.stdin is None else f"it did not read them in {_WAIT:g} s"
            remarks.append(f"the last {len(data) - size} bytes were not written: {why}")
        return Result.ok(record, content=bracketed("", remarks), metadata=isolation_of(job.isolation))


def _data(job: Job, text: str, keys: list[str], *, end: bool) -> bytes:
    """Return the bytes to write; ToolError without any, or if the job cannot read them."""
    if not (text or keys or end):
        raise ToolError("nothing to write: give text, keys or end", "validation_error")
    if not job.has_stdin:
        message = f"{job.id} has no standard input: start it with stdin (or tty) set to true"
        raise ToolError(message, "unavailable")
    if keys and not job.terminal:
        raise ToolError(f"{job.id} has no terminal for keys: start it with tty set to true", "unavailable")
    if job.stdin is None:
        state = "has ended" if job.ended is not None else "has closed its input"
        raise ToolError(f"{job.id} {state}", "unavailable")
    return encoded(text) + b"".join(_typed(key) for key in keys)


def _typed(key: str) -> bytes:
    """Return the bytes that a terminal sends for a key; ToolError for an unknown key."""
    if key.lower() not in _KEYS:
        raise ToolError(f"unknown key {key!r}; the keys are {', '.join(_KEYS)}", "validation_error")
    return _KEYS[key.lower()]
