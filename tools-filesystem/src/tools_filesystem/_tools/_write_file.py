"""The `write_file` tool."""

from __future__ import annotations

from typing import Annotated

from tools_core import Context, Result, ToolError
from tools_filesystem._paths._locate import locate
from tools_filesystem._paths._resolve import check_regular
from tools_filesystem._tools._file_tool import FileTool
from tools_filesystem._writing._changes import Change, commit


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
        try:
            data = content.encode()
        except UnicodeEncodeError as error:
            raise ToolError("content must not contain lone surrogates", "validation_error") from error
        with self.access(context) as access, locate(access, path, write=True, new=True) as file:
            ledger, found = access.ledger(context), file.found
            file.check_file_name()
            if found is not None:
                check_regular(found, path)
                if not overwrite:
                    file.check_permitted("overwrite=true replaces it")
                    ledger.check_known(path, found)
            change = Change(place=file, data=data, found=found, is_forced=overwrite)
            commit([change], context)
            ledger.replace(found, change.state, is_known=True)
        text = f"{'Created' if found is None else 'Replaced'} {path!r} ({len(data)} bytes)"
        return Result.ok({"path": path, "bytes": len(data), "created": found is None}, content=text)
