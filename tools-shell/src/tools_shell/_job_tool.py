"""The base of the tools for jobs that run already."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tools_core import Tool
from tools_shell._background._jobs import jobs
from tools_shell._owner import owner_of

if TYPE_CHECKING:
    from tools_core import Context
    from tools_shell._background._job import Job


class JobTool(Tool, abstract=True):
    """A tool for the jobs of the run and the workspace of a call."""

    stateful = True
    tags = ("shell",)

    def __init__(self, root: str | os.PathLike[str] | None = None) -> None:
        """`root` is the workspace of the jobs; without it the one of the call."""
        self._root = None if root is None else os.fspath(root)

    def find(self, id: str, context: Context) -> Job:
        """Return the job with that id; ToolError when the run has none in this workspace."""
        return jobs.find(owner_of(context, self._root), id)
