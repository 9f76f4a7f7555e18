"""The `copy_path` tool."""

from __future__ import annotations

from typing import Annotated

from tools_core import Context, Result
from tools_filesystem._paths._explain import explained
from tools_filesystem._paths._locate import locate
from tools_filesystem._paths._located import lock
from tools_filesystem._tools._file_tool import FileTool
from tools_filesystem._writing._rename import check_free
from tools_filesystem._writing._tree import copy_tree


class CopyPath(FileTool):
    """Copy a file, link or folder with its contents; missing folders are created. To rename it, use move_path.

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
            locate(access, source, follow=False) as old,
            locate(access, destination, write=True, new=True, follow=False) as new,
        ):
            old.check_name()
            new.make_folders(context)
            lock(context, new)
            replaces = new.status is not None
            check_free(old, new, overwrite=overwrite)
            with explained(source):
                copied = copy_tree(old, new, context)
        report = {"source": source, "destination": destination, "replaced": replaces}
        report |= {"entries": copied.entries, "bytes": copied.size}
        text = f"Copied {source!r} to {destination!r} (entries: {copied.entries}, bytes: {copied.size})"
        return Result.ok(report, content=text)
