"""The `make_directory` tool."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

from tools_core import Context, Result, ToolError
from tools_filesystem._paths._explain import explained
from tools_filesystem._paths._names import meant_place
from tools_filesystem._paths._resolve import open_folder
from tools_filesystem._tools._file_tool import FileTool
from tools_filesystem._writing._entry import Entry

if TYPE_CHECKING:
    from tools_filesystem._paths._access import Place


class MakeDirectory(FileTool):
    """Create a folder, with missing folders above it; an existing one is left as it is."""

    idempotent = True
    destructive = False

    def execute(
        self,
        path: Annotated[str, "Folder, relative to the workspace."],
        *,
        context: Context,
    ) -> Result:
        with self.access(context) as access, explained(access, path):
            made = _make(meant_place(access, path, write=True), path)
        return Result.ok({"path": path, "created": made})


def _make(place: Place, path: str) -> bool:
    """Return whether the folder is new; ToolError when something else has its name."""
    if _is_folder(place):
        return False
    with Entry(place) as entry:
        with suppress(FileExistsError):
            os.mkdir(entry.name, dir_fd=entry.folder)
            with suppress(OSError):  # it is there for all to see: an error would say that it is not
                os.fsync(entry.folder)
            return True
        if _is_folder(place):  # another process has made it
            return False
        raise ToolError(f"{path!r} exists and is not a folder; choose another name", "conflict")


def _is_folder(place: Place) -> bool:
    try:
        os.close(open_folder(place))
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
