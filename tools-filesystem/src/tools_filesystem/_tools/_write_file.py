"""The `write_file` tool."""

from __future__ import annotations

import functools
from typing import Annotated

from tools_core import Context, Result, ToolError
from tools_filesystem._ledger import Stamp
from tools_filesystem._paths._explain import explained
from tools_filesystem._paths._names import meant_place
from tools_filesystem._paths._step import check_regular
from tools_filesystem._tools._file_tool import FileTool
from tools_filesystem._writing._atomic import put
from tools_filesystem._writing._overwrite import check_known, check_permitted, check_unchanged
from tools_filesystem._writing._target import Target


class WriteFile(FileTool):
    """Write a whole text file; missing folders are created.

    Replaces an existing file if you have read all of it and it is unchanged, or with overwrite=true. To change part
    of a file, use edit_file.
    """

    destructive = True

    def execute(
        self,
        path: Annotated[str, "File path, relative to the workspace."],
        content: Annotated[str, "Full content of the file."],
        overwrite: Annotated[bool, "Replace the file even if it was not read."] = False,
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
            ledger, found = access.ledger(context), target.found
            before = None
            if found is not None:
                check_regular(found.st_mode, path)
                if not overwrite:
                    check_permitted(found, path)
                    check_known(path, found, ledger)
                    before = functools.partial(check_unchanged, target.folder, target.name, path, found)
            state = put(target.folder, target.name, data, found, before)
            if found is not None:
                ledger.forget(Stamp.of(found))
            ledger.record(Stamp.of(state), 0, len(data))
        text = f"{'Created' if found is None else 'Replaced'} {path!r} ({len(data)} bytes)"
        return Result.ok({"path": path, "bytes": len(data), "created": found is None}, content=text)


def encoded(text: str, what: str) -> bytes:
    """Return text as UTF-8; ToolError where that is impossible."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ToolError(f"{what} must not contain lone surrogates", "validation_error") from error
