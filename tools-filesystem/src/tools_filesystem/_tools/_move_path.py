"""The `move_path` tool."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

from tools_core import Context, Result, ToolError
from tools_filesystem._ledger import Stamp
from tools_filesystem._paths._explain import explained
from tools_filesystem._paths._names import meant_place
from tools_filesystem._tools._file_tool import FileTool
from tools_filesystem._writing._entry import Entry, lock, roots_of
from tools_filesystem._writing._relocate import check_free, copy_into, put, survey_copy
from tools_filesystem._writing._tree import Removal, Survey

if TYPE_CHECKING:
    from tools_filesystem._paths._access import Access


class MovePath(FileTool):
    """Move or rename a file, link or folder; missing folders are created.

    Replaces an existing file only with overwrite=true, a folder never.
    """

    destructive = True

    def execute(
        self,
        source: Annotated[str, "File or folder to move."],
        destination: Annotated[str, "Its new path, not the folder to put it into."],
        overwrite: Annotated[bool, "Replace a file of that name."] = False,
        *,
        context: Context,
    ) -> Result:
        with (
            self.access(context) as access,
            explained(access, source),
            Entry(meant_place(access, source, write=True), make=False) as old,
        ):
            old.state()
            with explained(access, destination), Entry(meant_place(access, destination, write=True)) as new:
                lock(context, old, new)
                replaces = new.found is not None
                check_free(old, new, destination, overwrite=overwrite)
                with explained(access, source):
                    Survey(context, access.workspace.protected, roots_of(access)).add(old.folder, old.name, source)
                    _move(access, old, new, source, context)
                _record(access, old, new, context)
        return Result.ok({"source": source, "destination": destination, "replaced": replaces})


def _move(access: Access, old: Entry, new: Entry, source: str, context: Context) -> None:
    try:
        put(old.folder, old.name, new)
    except OSError as error:
        if error.errno == errno.EINVAL and old.is_folder:
            message = f"{source!r} cannot be moved into itself; choose another destination"
            raise ToolError(message, "conflict") from error
        if error.errno != errno.EXDEV:
            raise
        # Another file system: the copy is complete before the original goes.
        survey_copy(old, new, source, context, access.workspace.protected, roots_of(access))
        copy_into(old, new, context)
        _remove(old, source)


def _remove(old: Entry, source: str) -> None:
    """Delete what was copied; the copy is there by now, and stays."""
    try:
        Removal().take(old.folder, old.name)
    except OSError as error:
        message = f"{source!r} was copied in full, but could not be deleted: {error.strerror} ({error.filename!r})"
        raise ToolError(f"{message}; delete what is left of it", "execution_error") from error
    with suppress(OSError):  # it is gone for all to see: an error would say that it is not
        os.fsync(old.folder)


def _record(access: Access, old: Entry, new: Entry, context: Context) -> None:
    """Keep what was known of the file under its new name."""
    before, ledger = Stamp.of(old.state()), access.ledger(context)
    if ledger.covers(before):
        new.look()
        after = Stamp.of(new.state())
        ledger.forget(before)
        ledger.record(after, 0, after.size)
