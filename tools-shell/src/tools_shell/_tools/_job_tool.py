"""`JobTool`, the base class of tools for existing jobs."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from tools_core import Tool
from tools_shell._jobs._table import jobs
from tools_shell._owner import owner_of

if TYPE_CHECKING:
    from tools_core import Context
    from tools_shell._jobs._job import Job


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
