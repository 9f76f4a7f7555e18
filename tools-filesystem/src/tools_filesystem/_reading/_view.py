"""A view of one file for a model: lines of text, the cells of a notebook, an image or a PDF."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_core import Context, File, Image, ToolError
from tools_filesystem._ledger import Ledger, Reading, ShownLine, Stamp, Version
from tools_filesystem._reading._encoding import SNIFF, detect
from tools_filesystem._reading._kinds import PDF, media_type
from tools_filesystem._reading._lines import Lines, show
from tools_filesystem._reading._notebook import notebook_lines

if TYPE_CHECKING:
    from tools_filesystem._reading._encoding import Encoding

_MAX_MEDIA = 10 << 20
_IMAGES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))


class Page(NamedTuple):
    """The requested part of a file: `limit` lines from `offset`, in at most `room` characters.

    `path` is for messages and `real` is the real path.
    """

    path: str
    real: str
    offset: int
    limit: int
    numbers: bool
    room: int


class View(NamedTuple):
    """The content that is shown of a file, facts about it, notes, and the lines that the model knows then."""

    content: str | File | Image
    facts: dict[str, Any]
    notes: list[str]
    reading: Reading | None = None


def view(file: int, page: Page, context: Context, ledger: Ledger) -> View:
    """Read a page of an open file."""
    version = Version.of(file)
    size = version.stamp.size
    start = os.pread(file, SNIFF, 0)
    facts: dict[str, Any] = {"size": size}
    encoding = detect(start)
    kind = File(start).mime_type
    if kind in _IMAGES or kind == PDF:
        return View(_media(file, page.path, kind), facts | {"media_type": kind}, [])
    if encoding is None:
        kind = media_type(start, page.path)
        return View(f"{page.path!r} is a binary file ({kind}, {size} bytes)", facts | {"media_type": kind}, [])
    if page.path.endswith(".ipynb") and size <= _MAX_MEDIA:
        cells = notebook_lines(os.pread(file, _MAX_MEDIA, 0))
        if cells is not None:
            return _notebook(cells, page, facts)
    reading = Reading(ledger, page.real, version, size, [])
    if len(start) <= encoding.mark:
        return View(f"{page.path!r} is empty ({size} bytes)", facts | {"total_lines": 0}, [], reading)
    text_view = _text(file, page, encoding, context, reading)
    if Stamp.of(os.fstat(file)) != version.stamp:
        facts["changed_meanwhile"] = True
        notes = [*text_view.notes, "the file was changed while it was read"]
        text_view = text_view._replace(notes=notes, reading=None)
    return text_view._replace(facts=facts | text_view.facts)


def _text(file: int, page: Page, encoding: Encoding, context: Context, reading: Reading) -> View:
    with contextlib.closing(Lines(file, encoding, context)) as lines:
        first = page.offset if page.offset > 0 else max(1, lines.count() + page.offset + 1)
        read = lines.read(first, page.limit, page.room)
        if not read:
            total = lines.count()
            text = f"{page.path!r} has {total} lines; offset {page.offset} is past its end"
            return View(text, {"total_lines": total}, [])
        size = lines.size
    texts, notes, facts = show(read, encoding, numbers=page.numbers)
    shown_lines: list[ShownLine] = []
    end = 0
    for line, (text, is_faithful) in zip(read, texts, strict=True):
        end += len(text)
        begin = 0 if line.start <= encoding.mark else line.start  # with the byte order mark
        shown_lines.append(ShownLine(begin, line.end, end, is_faithful))
    last = read[-1]
    facts["truncated"] = last.end < size
    if last.end >= size:
        facts |= {"total_lines": last.number, "final_newline": bool(last.ending)}
    else:
        facts["next"] = {"path": page.path, "offset": last.number + 1}
        notes.append(f"lines {read[0].number} to {last.number}; continue with offset={last.number + 1}")
    content = "".join(text for text, _ in texts)
    return View(content, facts, notes, reading._replace(size=size, lines=shown_lines))


def _notebook(cells: list[str], page: Page, facts: dict[str, Any]) -> View:
    start = page.offset - 1 if page.offset > 0 else max(0, len(cells) + page.offset)
    lines: list[str] = []
    room = page.room
    for number, line in enumerate(cells[start : start + page.limit], start + 1):
        lines.append(f"{number}\t{line}" if page.numbers else line)
        room -= len(lines[-1]) + 1
        if room < 0 and len(lines) > 1:
            lines.pop()
            break
    last = start + len(lines)
    facts |= {"total_lines": len(cells), "truncated": last < len(cells)}
    notes = ["a notebook, shown as cells; edit_file changes a cell by its number, grep sees the JSON"]
    if last < len(cells):
        notes.append(f"lines {start + 1} to {last} of {len(cells)}; continue with offset={last + 1}")
    return View("\n".join(lines), facts, notes)


def _media(file: int, path: str, kind: str) -> File | Image:
    with open(os.dup(file), "rb") as opened:
        data = opened.read(_MAX_MEDIA + 1)  # the file may grow
    if len(data) > _MAX_MEDIA:
        message = f"{path!r} ({kind}) is larger than {_MAX_MEDIA >> 20} MB; make a smaller copy first"
        raise ToolError(message, "limit_exceeded")
    name = os.path.basename(path)
    return File(data, kind, name=name) if kind == PDF else Image(data, kind, name=name)
