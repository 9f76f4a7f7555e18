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
    """Copy a file, a link or a folder with all that is in it, inside the workspace.

    Missing folders are made. The copy has the mode (without set-id bits), the times, the extended attributes and
    access lists, and where the system permits it the owner of the original; links stay links, and hard links become
    files of their own. A file that is there already is replaced only with overwrite=true, a folder never. Returns
    both paths and what was copied.
    Refuses pipes and devices, protected places such as .git and folders that hold them, and every path that leads
    out of the workspace.
    """

    destructive = True

    def execute(
        self,
        source: Annotated[str, "What to copy, relative to the workspace."],
        destination: Annotated[str, "The path of the copy itself, not of the folder that it goes into."],
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
