"""The `copy_path` tool."""

from __future__ import annotations

from typing import Annotated

from tools_core import Context, Result
from tools_filesystem._paths._explain import explained
from tools_filesystem._paths._names import meant_place
from tools_filesystem._tools._file_tool import FileTool
from tools_filesystem._writing._entry import Entry, Source, lock
from tools_filesystem._writing._relocate import check_free, copy_into, survey_copy


class CopyPath(FileTool):
    """Copy a file, link or folder with its contents; missing folders are created.

    Replaces an existing file only with overwrite=true, a folder never. Keeps modes, times and links.
    """

    destructive = True

    def execute(
        self,
        source: Annotated[str, "File or folder to copy."],
        destination: Annotated[str, "Path of the copy, not the folder to put it into."],
        overwrite: Annotated[bool, "Replace a file of that name."] = False,
        *,
        context: Context,
    ) -> Result:
        with (
            self.access(context) as access,
            explained(access, source),
            Source(meant_place(access, source), make=False) as old,
        ):
            old.state()
            with explained(access, destination), Entry(meant_place(access, destination, write=True)) as new:
                lock(context, new)
                replaces = new.found is not None
                check_free(old, new, destination, overwrite=overwrite)
                with explained(access, source):
                    survey_copy(old, new, source, context, access.workspace.protected)
                    copied = copy_into(old, new, context)
        report = {"source": source, "destination": destination, "replaced": replaces}
        return Result.ok({**report, "entries": copied.entries, "bytes": copied.size})
