"""The `delete_path` tool."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Annotated

from tools_core import Context, Result, ToolError
from tools_filesystem._ledger import Content, ledger_of
from tools_filesystem._paths._locate import locate
from tools_filesystem._paths._located import lock
from tools_filesystem._paths._resolve import closing
from tools_filesystem._tools._file_tool import FileTool
from tools_filesystem._writing._tree import Survey, remove


class DeletePath(FileTool):
    """Permanently delete a file, link or folder. To keep the contents elsewhere, use move_path.

    A folder that is not empty needs recursive=true. There is no undo.
    """

    destructive = True

    def execute(
        self,
        path: Annotated[str, "File or folder to delete."],
        recursive: Annotated[bool, "Delete a folder with its contents."] = False,
        *,
        context: Context,
    ) -> Result:
        with self.access(context) as access, locate(access, path, write=True, follow=False) as place:
            place.check_permitted("make it writable first (chmod u+w)")
            lock(context, place)
            before = Content(place.real, place.state)
            if place.is_folder and not recursive:
                with closing(place.open_folder()) as folder:
                    count = len(os.listdir(folder))
                if count:
                    message = f"{path!r} is a folder with {count} entries"
                    raise ToolError(f"{message}; pass recursive=true to delete it and its contents", "conflict")
            survey = Survey(context, access, is_deletion=True)
            survey.add(place.folder, place.name, path)
            try:
                remove(place.folder, place.name)
            except OSError as error:
                if survey.entries == 1:
                    raise
                message = f"{path!r} was not deleted in full: {error.strerror} ({error.filename!r})"
                raise ToolError(f"{message}; use list_directory to see the rest", "execution_error") from error
            finally:
                with suppress(OSError):  # already deleted: an error would deny it
                    os.fsync(place.folder)
            ledger_of(context.run_id).replace(before, None)
        text = f"Deleted {path!r} (entries: {survey.entries})"
        return Result.ok({"path": path, "entries": survey.entries}, content=text, metadata=access.warnings())
