"""The `write_file` tool."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Annotated

from tools_core import Context, Result, ToolError
from tools_filesystem._atomic import put
from tools_filesystem._explain import explained
from tools_filesystem._file_tool import FileTool
from tools_filesystem._ledger import Ledger, Stamp, ledger_of
from tools_filesystem._names import meant_place
from tools_filesystem._overwrite import check_known, check_version
from tools_filesystem._read._version import check_unchanged, version_of
from tools_filesystem._step import check_regular
from tools_filesystem._target import Target

if TYPE_CHECKING:
    import os
    from collections.abc import Callable


class WriteFile(FileTool):
    """Write a text file in the workspace, whole and at once.

    Missing folders are made. An existing file is replaced when all of it has been read and it has not changed
    since, when version is that of its present content, or with overwrite=true; it keeps its permissions, and
    whatever goes wrong, it has its old content or the new. To change a part of a file, edit_file is better.
    Returns the path, the number of bytes, whether the file is new, and its version. Refuses folders, pipes and
    devices, protected places such as .git, and every path that leads out of the workspace.
    """

    destructive = True

    def execute(
        self,
        path: Annotated[str, "The file, relative to the workspace."],
        content: Annotated[str, "All that the file shall contain."],
        overwrite: Annotated[bool, "Replace the file whatever it contains now."] = False,
        version: Annotated[str | None, "Replace the file only if this is the version of what it contains now."] = None,
        *,
        context: Context,
    ) -> Result:
        data = encoded(content, "content")
        with (
            self.access(context) as access,
            explained(access, path),
            Target(meant_place(access, path, write=True)) as target,
        ):
            target.lock(context)
            ledger, found = ledger_of(access, context), target.found
            before = None
            if found is not None:
                check_regular(found.st_mode, path)
                before = _permission(target, path, found, ledger, overwrite=overwrite, version=version)
            elif version is not None:
                message = f"{path!r} does not exist, so no version fits; leave version out to create it"
                raise ToolError(message, "conflict")
            state = put(target.folder, target.name, data, found, before)
            if found is not None:
                ledger.forget(Stamp.of(found))
            ledger.record(Stamp.of(state), 0, len(data))
        return Result.ok({"path": path, "bytes": len(data), "created": found is None, "version": version_of(data)})


def _permission(
    target: Target, path: str, found: os.stat_result, ledger: Ledger, *, overwrite: bool, version: str | None
) -> Callable[[], os.stat_result] | None:
    """What is to be checked once more just before the file is replaced; ToolError when it must not be."""
    if version is not None:
        check_version(target.folder, target.name, path, version)
    elif overwrite:
        return None
    else:
        check_known(target.folder, target.name, path, found, ledger)
    return functools.partial(check_unchanged, target.folder, target.name, path, found, version)


def encoded(text: str, what: str) -> bytes:
    """Text as UTF-8; ToolError for what cannot be."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ToolError(f"{what} must not contain lone surrogates", "validation_error") from error
