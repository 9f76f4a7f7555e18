"""The `write_file` tool."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

from tools_core import Context, Result, ToolError
from tools_filesystem._ledger import Content, ledger_of
from tools_filesystem._paths._locate import check_no_twin, locate
from tools_filesystem._paths._resolve import check_regular
from tools_filesystem._reading._encoding import SNIFF, declared, detect
from tools_filesystem._tools._check import checked
from tools_filesystem._tools._file_tool import FileTool
from tools_filesystem._writing._changes import Change, commit, other_names
from tools_filesystem._writing._text import Text

if TYPE_CHECKING:
    from tools_filesystem._paths._located import Located


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
        with self.access(context) as access, locate(access, path, write=True, new=True, repair="spelling") as file:
            ledger, status, note = ledger_of(context.run_id), file.status, ""
            file.check_file_name()
            if not overwrite:
                check_no_twin(file)
            if status is not None:
                check_regular(status, path)
                if not overwrite:
                    file.check_permitted("overwrite=true replaces it")
                    is_text = detect(file.read_start(SNIFF)) is not None and not path.endswith(".ipynb")
                    ledger.check_seen(path, file.real, status, file.open_file, is_text=is_text)
                data, note = _encoded(file, data)
            change = Change(place=file, data=data, status=status, is_forced=overwrite)
            real = file.real
            commit([change], context)
            before = None if status is None else Content(real, status)
            after = None if change.state is None else Content(real, change.state, [data])
            ledger.replace(before, after, is_known=True)
        text = f"{'Created' if status is None else 'Replaced'} {path!r} ({len(data)} bytes){note}"
        notes = (file.note, "" if status is None else other_names(status))
        text += "".join(f"\n[{note}]" for note in notes if note)
        remark = checked(file.root.real, [real], context)
        text += f"\n{remark}" if remark else ""
        report = {"path": path, "bytes": len(data), "created": status is None}
        return Result.ok(report, content=text, metadata=access.warnings())


def _encoded(file: Located, data: bytes) -> tuple[bytes, str]:
    """Return the new content in the encoding that both contents declare, and notes on what else the file loses."""
    notes: list[str] = []
    with suppress(OSError):  # it may be replaced without being readable
        start = file.read_start(SNIFF)
        old, new = detect(start), detect(data[:SNIFF])
        if old is not None and old == declared(data[:SNIFF]):
            data, new = Text(b"", "utf-8", old).restored(data), old
        if old is not None and new is not None and old.name != new.name:
            notes.append(f"its encoding was {old.name}, now it is {new.name}")
        if old is not None and "\r\n".encode(old.codec) in start and b"\n" in data and b"\r\n" not in data:
            notes.append("its lines ended with CRLF, now they end with LF")
    return data, "".join(f"\n[{note}]" for note in notes)
