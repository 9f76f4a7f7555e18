"""The `delete_path` tool."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

from tools_core import Context, Result, ToolError
from tools_filesystem._ledger import Stamp
from tools_filesystem._paths._explain import explained
from tools_filesystem._paths._names import meant_place
from tools_filesystem._tools._file_tool import FileTool
from tools_filesystem._writing._entry import Entry, lock, roots_of
from tools_filesystem._writing._tree import Removal, Survey, open_folder_in

if TYPE_CHECKING:
    from tools_filesystem._paths._access import Access


class DeletePath(FileTool):
    """Delete a file, link or folder for good. A folder that is not empty needs recursive=true."""

    destructive = True

    def execute(
        self,
        path: Annotated[str, "File or folder to delete."],
        recursive: Annotated[bool, "Delete a folder with its contents."] = False,
        *,
        context: Context,
    ) -> Result:
        with (
            self.access(context) as access,
            explained(access, path),
            Entry(meant_place(access, path, write=True), make=False) as entry,
        ):
            lock(context, entry)
            state = entry.state()
            count = _delete(access, entry, path, context, recursive=recursive)
            access.ledger(context).forget(Stamp.of(state))
        return Result.ok({"path": path, "entries": count})


def _delete(access: Access, entry: Entry, path: str, context: Context, *, recursive: bool) -> int:
    if entry.is_folder and not recursive:
        _check_empty(entry, path)
    survey = Survey(context, access.workspace.protected, roots_of(access))
    survey.add(entry.folder, entry.name, path)
    removal = Removal()
    try:
        removal.take(entry.folder, entry.name)
    except OSError as error:
        if not removal.entries:
            raise
        message = f"{path!r}: {removal.entries} of {survey.entries} entries were deleted, and then: {error.strerror}"
        raise ToolError(f"{message} ({error.filename!r})", "execution_error") from error
    finally:
        with suppress(OSError):  # it is gone for all to see: an error would say that it is not
            os.fsync(entry.folder)
    return removal.entries


def _check_empty(entry: Entry, path: str) -> None:
    folder = open_folder_in(entry.folder, entry.name)
    try:
        count = len(os.listdir(folder))
    finally:
        os.close(folder)
    if count:
        message = f"{path!r} is a folder with {count} entries; pass recursive=true to delete it with all that is in it"
        raise ToolError(message, "conflict")
