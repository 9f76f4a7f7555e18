"""The `move_path` tool."""

from __future__ import annotations

import errno
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

from tools_core import Context, Result, ToolError
from tools_filesystem._ledger import Content, ledger_of
from tools_filesystem._paths._explain import explained
from tools_filesystem._paths._locate import locate
from tools_filesystem._paths._located import lock
from tools_filesystem._tools._file_tool import FileTool
from tools_filesystem._writing._rename import check_free, put
from tools_filesystem._writing._tree import Survey

if TYPE_CHECKING:
    from tools_filesystem._paths._located import Located


class MovePath(FileTool):
    """Move or rename a file, link or folder; missing folders are created. To keep the original, use a shell command.

    To replace the text of a file, use write_file. Replaces an existing file only with overwrite=true, a folder never.
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
            locate(access, source, write=True, follow=False) as old,
            locate(access, destination, write=True, new=True, follow=False) as new,
        ):
            old.check_permitted("make it writable first (chmod u+w)")
            with explained(source):
                Survey(context, access, new_name=new.name).add(old.folder, old.name, source)
            new.make_folders(context)
            lock(context, old, new)
            replaces = new.status is not None
            check_free(old, new, overwrite=overwrite)
            before, path = Content(old.real, old.state), new.real
            with explained(source):
                _move(old, new)
            with suppress(OSError):  # already moved: an error would deny it
                new.look()
            after = None if new.status is None else Content(path, new.status)
            ledger_of(context.run_id).replace(before, after)
        report = {"source": source, "destination": destination, "replaced": replaces}
        return Result.ok(report, content=f"Moved {source!r} to {destination!r}", metadata=access.warnings())


def _move(old: Located, new: Located) -> None:
    try:
        put(old.folder, old.name, new)
    except OSError as error:
        if error.errno == errno.EINVAL and old.is_folder:
            message = f"{old.argument!r} cannot be moved into itself; choose another destination"
            raise ToolError(message, "conflict") from error
        if error.errno == errno.EXDEV:
            message = f"{old.argument!r} and {new.argument!r} are on different file systems; copy it with a program"
            raise ToolError(message, "conflict") from error
        raise
