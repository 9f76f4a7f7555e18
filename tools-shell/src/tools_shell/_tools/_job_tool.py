"""The base of the tools for jobs that have been started."""

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
        """`root` is the workspace of the jobs; without it the one of the call."""
        self._root = None if root is None else os.fspath(root)

    def find(self, id: str, context: Context) -> Job:
        """Return the job with that id; ToolError when the run has none in this workspace."""
        return jobs.find(owner_of(context, self._root), id)


def deadline(seconds: float, context: Context) -> float:
    """Return when to stop waiting: after `seconds`, or at the deadline of the caller."""
    remaining = context.remaining
    return time.monotonic() + (seconds if remaining is None else min(seconds, remaining))
