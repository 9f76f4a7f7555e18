"""The `read_file` tool."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from tools_core import Context, File, Image, Limits, Result, ToolError
from tools_filesystem._ledger import Ledger, Stamp
from tools_filesystem._paths._locate import locate
from tools_filesystem._reading._encoding import SNIFF, detect
from tools_filesystem._reading._lines import Lines
from tools_filesystem._reading._media import PDF, media_type
from tools_filesystem._reading._shown import show
from tools_filesystem._tools._file_tool import FileTool

if TYPE_CHECKING:
    from tools_filesystem._reading._encoding import Encoding
    from tools_filesystem._reading._lines import Line

_LARGEST_MEDIA = 10 << 20
_IMAGES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))


class ReadFile(FileTool):
    """Read a file: text with line numbers, or an image or PDF to look at.

    Shows up to 2,000 lines, 100 kB and 2,000 bytes of a line; a note says how to read on.
    """

    read_only = True

    def execute(
        self,
        path: Annotated[str, "File path, relative to the workspace."],
        offset: Annotated[int, "First line; a negative number counts from the end (-50: the last 50 lines)."] = 1,
        limit: Annotated[int, "Maximum number of lines.", Limits(ge=1)] = 2000,
        line_numbers: Annotated[bool, "Prefix each line with its number and a tab."] = True,
        *,
        context: Context,
    ) -> Result:
        with self.access(context) as access, locate(access, path, repair=True) as place:
            file = _File(place.open_file(), place.path, place.note)
            try:
                return _read(file, offset or 1, limit, context, access.ledger(context), numbers=line_numbers)
            finally:
                os.close(file.descriptor)


class _File(NamedTuple):
    descriptor: int
    path: str
    note: str


def _read(file: _File, offset: int, limit: int, context: Context, ledger: Ledger, *, numbers: bool) -> Result:
    stamp = Stamp.of(os.fstat(file.descriptor))
    start = os.pread(file.descriptor, SNIFF, 0)
    facts: dict[str, Any] = {"size": stamp.size} | ({"repaired_path": file.path} if file.note else {})
    encoding = detect(start)
    kind = File(start).mime_type
    if kind in _IMAGES or kind == PDF:
        return _media(file, kind, facts)
    if encoding is None:
        kind = media_type(start, file.path)
        return _fact(f"{file.path!r} is a binary file ({kind}, {stamp.size} bytes)", file, facts | {"media_type": kind})
    if len(start) <= encoding.mark:
        ledger.record(stamp, 0, len(start))
        return _fact(f"{file.path!r} is empty ({stamp.size} bytes)", file, facts | {"total_lines": 0})
    lines = Lines(file.descriptor, encoding, context)
    try:
        first = offset if offset > 0 else lines.first_of_last(-offset)
        found = lines.read(first, limit)
        if not found:
            total = lines.count()
            text = f"{file.path!r} has {total} lines; offset {offset} is past its end"
            return _fact(text, file, facts | {"total_lines": total})
        return _shown(file, found, encoding, ledger, stamp, facts, is_end=found[-1].end >= lines.size, numbers=numbers)
    finally:
        lines.close()


def _shown(
    file: _File, lines: list[Line], encoding: Encoding, ledger: Ledger, stamp: Stamp, facts: dict[str, Any], *,
    is_end: bool, numbers: bool,
) -> Result:  # fmt: skip
    text, notes, more, is_faithful = show(lines, encoding, numbers=numbers)
    facts |= more
    first, last = lines[0], lines[-1]
    begin = 0 if first.start <= encoding.mark else first.start
    is_narrow = encoding.width == 1
    facts["truncated"] = not is_end
    if Stamp.of(os.fstat(file.descriptor)) != stamp:
        facts["changed_meanwhile"] = True
        notes.append("the file was changed while it was read")
    elif is_faithful and is_narrow:
        ledger.record(stamp, begin, last.end)
    elif is_faithful and is_end and begin == 0:
        ledger.record(stamp, 0, stamp.size)
    if is_end:
        facts["total_lines"] = last.number
        facts["final_newline"] = bool(last.ending)
    else:
        facts["next"] = {"path": file.path, "offset": last.number + 1}
        notes.append(f"lines {first.number} to {last.number}; continue with offset={last.number + 1}")
    if file.note:
        notes.append(file.note)
    if notes:
        facts["note"] = "; ".join(notes)
        text += ("" if text.endswith("\n") else "\n") + f"[{facts['note']}]"
    return Result.ok(text, metadata=facts)


def _media(file: _File, kind: str, facts: dict[str, Any]) -> Result:
    with open(os.dup(file.descriptor), "rb") as opened_file:
        data = opened_file.read(_LARGEST_MEDIA + 1)  # the size that the system tells may grow
    if len(data) > _LARGEST_MEDIA:
        message = f"{file.path!r} ({kind}) is larger than {_LARGEST_MEDIA >> 20} MB; make a smaller copy first"
        raise ToolError(message, "limit_exceeded")
    name = os.path.basename(file.path)
    block = File(data, kind, name=name) if kind == PDF else Image(data, kind, name=name)
    return Result.ok([block, file.note] if file.note else block, metadata=facts | {"media_type": kind})


def _fact(text: str, file: _File, facts: dict[str, Any]) -> Result:
    return Result.ok(f"{text}\n[{file.note}]" if file.note else text, metadata=facts)
