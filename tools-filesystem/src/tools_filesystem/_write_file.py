"""The `write_file` tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from tools_core import Context, Result, ToolError
from tools_filesystem._atomic import put
from tools_filesystem._explain import explained
from tools_filesystem._file_tool import FileTool
from tools_filesystem._resolve import check_regular
from tools_filesystem._target import Target

if TYPE_CHECKING:
    import os


class WriteFile(FileTool):
    """Write a text file in the workspace, whole and at once.

    Missing folders are made. An existing file is replaced only with overwrite=true, and then keeps its
    permissions; whatever goes wrong, it has its old content or the new. Returns the path, the number of
    bytes, and whether the file is new. Refuses folders, pipes and devices, and every path that leads out of
    the workspace.
    """

    destructive = True

    def execute(
        self,
        path: Annotated[str, "The file, relative to the workspace."],
        content: Annotated[str, "All that the file shall contain."],
        overwrite: Annotated[bool, "Replace the file if it exists."] = False,
        *,
        context: Context,
    ) -> Result:
        data = _encoded(content)
        with (
            self.access(context) as access,
            explained(access, path),
            Target(access.place(path, write=True)) as target,
        ):
            _check_replaceable(target.found, path, overwrite)
            put(target.folder, target.name, data, target.found)
        return Result.ok({"path": path, "bytes": len(data), "created": target.found is None})


def _encoded(content: str) -> bytes:
    try:
        return content.encode()
    except UnicodeEncodeError as error:
        raise ToolError("content must not contain lone surrogates", "validation_error") from error


def _check_replaceable(found: os.stat_result | None, path: str, overwrite: bool) -> None:
    if found is None:
        return
    check_regular(found.st_mode, path)
    if not overwrite:
        message = f"{path!r} exists ({found.st_size} bytes): read it, then pass overwrite=true to replace it"
        raise ToolError(message, "conflict")
