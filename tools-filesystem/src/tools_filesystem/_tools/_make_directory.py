"""The `make_directory` tool."""

from __future__ import annotations

from typing import Annotated

from tools_core import Context, Result, ToolError
from tools_filesystem._paths._locate import locate
from tools_filesystem._tools._file_tool import FileTool


class MakeDirectory(FileTool):
    """Create an empty folder, with missing folders above it; an existing one stays unchanged.

    Not needed before write_file, which creates folders. Fails if a file has the name.
    """

    idempotent = True
    destructive = False

    def execute(
        self,
        path: Annotated[str, "Folder, relative to the workspace."],
        *,
        context: Context,
    ) -> Result:
        with self.access(context) as access, locate(access, path, new=True) as place:
            if place.status is None and not place.links:
                place.make_itself(context)
                return Result.ok({"path": path, "created": True}, content=f"Created {path!r}")
            if not place.is_folder:
                raise ToolError(f"{path!r} exists and is not a folder; choose another name", "conflict")
        return Result.ok({"path": path, "created": False}, content=f"{path!r} exists already")
