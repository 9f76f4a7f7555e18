"""What the tools for background jobs say of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_shell._facts import SURVIVORS, ending

if TYPE_CHECKING:
    from tools_core import Context
    from tools_shell._background._job import Job
    from tools_shell._background._reading import Part


def status_of(job: Job) -> dict[str, Any]:
    """Whether it runs, and how it ended; what is rare is there only when it applies."""
    with job.changed:
        if job.ended is None:
            return {"status": "stopping" if job.is_stopping else "running"}
        found: dict[str, Any] = {
            "stopped": job.is_stopping,
            "limit": job.limit,
            "background": "processes that the command left behind were ended" if job.left_behind else None,
            "survivors": None if job.is_gone else SURVIVORS,
            "problem": job.problem,
        }
        facts = {"status": "ended", **ending(job.exit, job.about.isolation.rung)}
        return facts | {name: value for name, value in found.items() if value}


def output_of(part: Part) -> dict[str, Any]:
    """A part of its output, and where the next one begins."""
    facts: dict[str, Any] = {"output": part.text, "cursor": part.cursor, "next_cursor": part.next_cursor}
    if part.skipped:
        facts["skipped_bytes"] = part.skipped
    if not part.is_utf8:
        facts["not_utf8"] = True
    return facts


def time_to_wait(seconds: float, context: Context) -> float:
    """Return the seconds to wait: those asked for, or what the caller has left."""
    remaining = context.remaining
    return seconds if remaining is None else min(seconds, remaining)
