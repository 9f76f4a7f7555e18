"""The `read_file` tool."""

from __future__ import annotations

import contextlib
import os
from typing import Annotated, Any, NamedTuple

from tools_core import Context, File, Image, Limits, Result, ToolError
from tools_filesystem._ledger import Ledger, Stamp, ledger_of
from tools_filesystem._paths._locate import locate
from tools_filesystem._paths._resolve import closing
from tools_filesystem._reading._encoding import SNIFF, detect
from tools_filesystem._reading._kinds import PDF, media_type
from tools_filesystem._reading._lines import Lines, show
from tools_filesystem._tools._file_tool import FileTool

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
        with (
            self.access(context) as access,
            locate(access, path, repair=True) as place,
            closing(place.open_file()) as file,
        ):
            page = _Page(place.path, offset or 1, limit, line_numbers)
            shown, facts, notes = _read(file, page, context, ledger_of(context.run_id))
        facts |= {"repaired_path": place.path} if place.note else {}
        notes += [place.note] if place.note else []
        if not isinstance(shown, str):
            return Result.ok([shown, *notes] if notes else shown, metadata=facts)
        if notes:
            facts["note"] = "; ".join(notes)
            shown += ("" if shown.endswith("\n") else "\n") + f"[{facts['note']}]"
        return Result.ok(shown, metadata=facts)


class _Page(NamedTuple):
    """The part of a file that is asked for."""

    path: str
    offset: int
    limit: int
    numbers: bool


# What is shown, facts about it, and notes.
_Shown = tuple[str | File | Image, dict[str, Any], list[str]]


def _read(file: int, page: _Page, context: Context, ledger: Ledger) -> _Shown:
    stamp = Stamp.of(os.fstat(file))
    start = os.pread(file, SNIFF, 0)
    facts: dict[str, Any] = {"size": stamp.size}
    encoding = detect(start)
    kind = File(start).mime_type
    if kind in _IMAGES or kind == PDF:
        return _media(file, page.path, kind), facts | {"media_type": kind}, []
    if encoding is None:
        kind = media_type(start, page.path)
        return f"{page.path!r} is a binary file ({kind}, {stamp.size} bytes)", facts | {"media_type": kind}, []
    if len(start) <= encoding.mark:
        ledger.record(stamp, 0, len(start))
        return f"{page.path!r} is empty ({stamp.size} bytes)", facts | {"total_lines": 0}, []
    with contextlib.closing(Lines(file, encoding, context)) as lines:
        found = lines.read(page.offset if page.offset > 0 else max(1, lines.count() + page.offset + 1), page.limit)
        if not found:
            total = lines.count()
            text = f"{page.path!r} has {total} lines; offset {page.offset} is past its end"
            return text, facts | {"total_lines": total}, []
    text, notes, more, is_faithful = show(found, encoding, numbers=page.numbers)
    first, last = found[0], found[-1]
    is_end = last.end >= lines.size
    begin = 0 if first.start <= encoding.mark else first.start
    facts |= {**more, "truncated": not is_end}
    if Stamp.of(os.fstat(file)) != stamp:
        facts["changed_meanwhile"] = True
        notes.append("the file was changed while it was read")
    elif is_faithful and encoding.width == 1:
        ledger.record(stamp, begin, last.end)
    elif is_faithful and is_end and begin == 0:
        ledger.record(stamp, 0, stamp.size)
    if is_end:
        facts |= {"total_lines": last.number, "final_newline": bool(last.ending)}
    else:
        facts["next"] = {"path": page.path, "offset": last.number + 1}
        notes.append(f"lines {first.number} to {last.number}; continue with offset={last.number + 1}")
    return text, facts, notes


def _media(file: int, path: str, kind: str) -> File | Image:
    with open(os.dup(file), "rb") as opened:
        data = opened.read(_LARGEST_MEDIA + 1)  # the file may grow
    if len(data) > _LARGEST_MEDIA:
        message = f"{path!r} ({kind}) is larger than {_LARGEST_MEDIA >> 20} MB; make a smaller copy first"
        raise ToolError(message, "limit_exceeded")
    name = os.path.basename(path)
    return File(data, kind, name=name) if kind == PDF else Image(data, kind, name=name)
