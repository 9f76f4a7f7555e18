"""The `list_roots` tool."""

from __future__ import annotations

import os

from tools_core import Context, Result
from tools_filesystem._file_tool import FileTool


class ListRoots(FileTool):
    """List the folders that file tools may touch, and whether they may write there.

    Relative paths are below the first one; absolute paths may be below any of them.
    """

    read_only = True

    def execute(self, *, context: Context) -> Result:
        workspace = self.workspace_in(context)
        roots = [{"path": root.path, "writable": root.writable} for root in workspace.roots]
        lines = [f"{root}{'' if os.path.isdir(root.path) else ' (does not exist)'}" for root in workspace.roots]
        return Result.ok("\n".join(lines), metadata={"roots": roots})
