"""The `read_file` tool."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from tools_core import Context, File, Image, Limits, Result, ToolError
from tools_filesystem._ledger import Ledger, Stamp, ledger_of
from tools_filesystem._paths._locate import locate
from tools_filesystem._paths._resolve import closing
from tools_filesystem._reading import _pdf
from tools_filesystem._reading._encoding import SNIFF, detect
from tools_filesystem._reading._kinds import PDF, media_type
from tools_filesystem._reading._lines import BUDGET, Lines, show
from tools_filesystem._reading._notebook import notebook_lines
from tools_filesystem._search._process import Command, run
from tools_filesystem._tools._file_tool import FileTool

if TYPE_CHECKING:
    from tools_filesystem._reading._encoding import Encoding

_MAX_MEDIA = 10 << 20
_PAGES = re.compile(r"(\d{1,6})(?:\s*-\s*(\d{1,6}))?", re.ASCII)
_IMAGES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))


class ReadFile(FileTool):
    """Read a file: text with line numbers, a notebook as cells with outputs, an image or a PDF.

    Returns up to 2,000 lines, 100 kB and 2,000 bytes of a line; a note says how to continue.
    To search in many files, use grep.
    """

    read_only = True

    def execute(
        self,
        path: Annotated[str, "File path, relative to the workspace."],
        offset: Annotated[int, "First line; a negative number counts from the end (-50: the last 50 lines)."] = 1,
        limit: Annotated[int, "Maximum number of lines.", Limits(ge=1)] = 2000,
        line_numbers: Annotated[bool, "Prefix each line with its number and a tab."] = True,
        pages: Annotated[str, "Pages of a PDF, such as 3 or 1-5: return their text.", Limits(max_length=20)] = "",
        *,
        context: Context,
    ) -> Result:
        with (
            self.access(context) as access,
            locate(access, path, repair=True) as place,
            closing(place.open_file()) as file,
        ):
            page = _Page(place.path, offset or 1, limit, line_numbers)
            if pages:
                return Result.ok(_pdf_text(file, pages, context))
            output, facts, notes = _read(file, page, context, ledger_of(context.run_id))
        facts |= {"repaired_path": place.path} if place.note else {}
        notes += [place.note] if place.note else []
        if not isinstance(output, str):
            return Result.ok([output, *notes] if notes else output, metadata=facts)
        if notes:
            facts["note"] = "; ".join(notes)
            output += ("" if output.endswith("\n") else "\n") + f"[{facts['note']}]"
        return Result.ok(output, metadata=facts)


class _Page(NamedTuple):
    """The requested part of a file."""

    path: str
    offset: int
    limit: int
    numbers: bool


# The content, facts about it, and notes.
_Output = tuple[str | File | Image, dict[str, Any], list[str]]


def _read(file: int, page: _Page, context: Context, ledger: Ledger) -> _Output:
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
    if page.path.endswith(".ipynb") and stamp.size <= _MAX_MEDIA:
        cells = notebook_lines(os.pread(file, _MAX_MEDIA, 0))
        if cells is not None:
            return _notebook(cells, page, facts)
    if len(start) <= encoding.mark:
        ledger.record(stamp, 0, len(start))
        return f"{page.path!r} is empty ({stamp.size} bytes)", facts | {"total_lines": 0}, []
    return _text(file, page, encoding, Lines(file, encoding, context), ledger)


def _text(file: int, page: _Page, encoding: Encoding, lines: Lines, ledger: Ledger) -> _Output:
    stamp = Stamp.of(os.fstat(file))
    facts: dict[str, Any] = {"size": stamp.size}
    with contextlib.closing(lines):
        lines_read = lines.read(page.offset if page.offset > 0 else max(1, lines.count() + page.offset + 1), page.limit)
        if not lines_read:
            total = lines.count()
            text = f"{page.path!r} has {total} lines; offset {page.offset} is past its end"
            return text, facts | {"total_lines": total}, []
    text, notes, more, is_faithful = show(lines_read, encoding, numbers=page.numbers)
    first, last = lines_read[0], lines_read[-1]
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


def _notebook(cells: list[str], page: _Page, facts: dict[str, Any]) -> _Output:
    start = page.offset - 1 if page.offset > 0 else max(0, len(cells) + page.offset)
    numbered = enumerate(cells[start : start + page.limit], start + 1)
    lines = [f"{number}\t{line}" if page.numbers else line for number, line in numbered]
    text = "\n".join(lines)[:BUDGET]
    last = start + text.count("\n") + bool(lines)
    facts |= {"total_lines": len(cells), "truncated": last < len(cells)}
    notes = ["a notebook, output as cells; edit_file and grep see its JSON"]
    if last < len(cells):
        notes.append(f"lines {start + 1} to {last} of {len(cells)}; continue with offset={last + 1}")
    return text, facts, notes


def _pdf_text(file: int, pages: str, context: Context) -> str:
    span = _PAGES.fullmatch(pages.strip())
    first, last = (int(span[1]), int(span[2] or span[1])) if span else (0, 0)
    if not 1 <= first <= last:
        raise ToolError(f"pages must be a page or a range, such as '3' or '1-5', not {pages!r}", "validation_error")
    program = [sys.executable, "-I", _pdf.__file__, str(file), str(first), str(last)]
    output = run(Command(program, files=(file,)), context)
    if output.code > 0:
        raise ToolError(
            output.complaints.strip()[-300:], "unavailable" if "needs pypdf" in output.complaints else "conflict"
        )
    text = output.output[:BUDGET].decode(errors="replace")
    is_cut = len(output.output) > BUDGET or output.stopped
    return f"{text}\n[truncated: ask for fewer pages]" if is_cut else text


def _media(file: int, path: str, kind: str) -> File | Image:
    with open(os.dup(file), "rb") as opened:
        data = opened.read(_MAX_MEDIA + 1)  # the file may grow
    if len(data) > _MAX_MEDIA:
        message = f"{path!r} ({kind}) is larger than {_MAX_MEDIA >> 20} MB; make a smaller copy first"
        raise ToolError(message, "limit_exceeded")
    name = os.path.basename(path)
    return File(data, kind, name=name) if kind == PDF else Image(data, kind, name=name)
