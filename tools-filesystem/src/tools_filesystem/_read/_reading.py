"""From an open file to what a model is shown of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from tools_core import Result, ToolError
from tools_filesystem._ledger import Stamp
from tools_filesystem._read._encoding import SNIFF, detect
from tools_filesystem._read._lines import BUDGET, from_line, last_lines
from tools_filesystem._read._media import PDF, media_type
from tools_filesystem._read._shown import Shown
from tools_filesystem._read._source import ScanLimitError, Source
from tools_filesystem._read._version import version_of

if TYPE_CHECKING:
    from typing import Any

    from tools_core import Context
    from tools_filesystem._ledger import Ledger
    from tools_filesystem._names import Opened
    from tools_filesystem._read._lines import Window


class Wanted(NamedTuple):
    """Which part of a file is asked for, and how it shall look."""

    offset: int = 1
    limit: int = 2000
    column: int = 1
    tail: int | None = None
    line_numbers: bool = False
    if_changed: bool = False
    budget: int = BUDGET


def read(file: Opened, wanted: Wanted, context: Context, ledger: Ledger) -> Result:
    """Read what is wanted, and note in the ledger what was shown of it."""
    stamp = Stamp.of(os.fstat(file.descriptor))
    start = os.pread(file.descriptor, SNIFF, 0)
    facts: dict[str, Any] = {"size": stamp.size} | ({"repaired_path": file.path} if file.note else {})
    if start.startswith(b"%PDF-"):
        text = f"{file.path!r} is a PDF ({stamp.size} bytes): read_media_file hands it over, pdftotext makes it text."
        return _fact(text, file, facts | {"binary": True, "media_type": PDF})
    encoding = detect(start)
    if encoding is None:
        kind = media_type(start, file.path)
        text = f"{file.path!r} is a binary file ({kind}, {stamp.size} bytes); its content is not shown."
        return _fact(text, file, facts | {"binary": True, "media_type": kind})
    if len(start) <= encoding.mark:
        ledger.record(stamp, 0, len(start))
        text = f"{file.path!r} is empty ({stamp.size} bytes)."
        version = version_of(file.descriptor)
        return _fact(text, file, facts | {"total_lines": 0, "encoding": encoding.name, "version": version})
    source = Source(file.descriptor, encoding, context, ledger.lines)
    window = _window(source, file, wanted)
    if not window.pieces:
        return _beyond(window, file, wanted, facts)
    return _shown(Shown(window, source.encoding, file.path, wanted.line_numbers), file, wanted, ledger, stamp, facts)


def _window(source: Source, file: Opened, wanted: Wanted) -> Window:
    if wanted.tail is not None:
        return _tail(source, file, wanted, wanted.tail)
    try:
        return from_line(source, wanted.offset, wanted.limit, wanted.column, wanted.budget)
    except ScanLimitError:
        what = f"line {wanted.offset}" if wanted.column == 1 else f"byte {wanted.column} of line {wanted.offset}"
        message = f"{_not_reached(source, file, what)}; tail reads the end"
        raise ToolError(message, "limit_exceeded") from None


def _tail(source: Source, file: Opened, wanted: Wanted, lines: int) -> Window:
    """The last lines, with their numbers where these are wanted, be it for a hint: only counting tells them."""
    try:
        window = last_lines(source, lines, wanted.budget)
    except ScanLimitError:
        message = f"{file.path!r}: the time of this call ended before the last {lines} lines were found"
        more = "a smaller tail or a longer time limit may do; offset=1 reads from the beginning"
        raise ToolError(f"{message}; {more}", "limit_exceeded") from None
    if not window.pieces:  # the file was emptied meanwhile
        return window
    start, mark = window.pieces[0].start, source.encoding.mark
    hints = window.left_out or any(piece.is_cut for piece in window.pieces)
    if not (wanted.line_numbers or hints or start == mark):
        return window
    try:
        return window.renumbered(source.newlines_before(start) + 1 - window.pieces[0].line)
    except ScanLimitError:
        if wanted.line_numbers:
            message = f"{_not_reached(source, file, 'the last lines')}; line_numbers=false counts nothing"
            raise ToolError(message, "limit_exceeded") from None
        return window


def _not_reached(source: Source, file: Opened, what: str) -> str:
    """How far the time of the call was enough, and how to go on."""
    position, newlines = source.reached
    return (
        f"{file.path!r}: the time of this call ended before {what}; {newlines} lines are counted, in the first "
        f"{position} of {source.size} bytes. The same call goes on from there, unless the file changes or the session "
        f"ends; a longer time limit gets further at once"
    )


def _beyond(window: Window, file: Opened, wanted: Wanted, facts: dict[str, Any]) -> Result:
    if window.total is None:
        text = f"line {wanted.offset} of {file.path!r} ends before byte {wanted.column}; there may be a next line."
        return _fact(text, file, facts)
    text = f"{file.path!r} has {window.total} lines; offset {wanted.offset} is past its end."
    return _fact(text, file, facts | {"total_lines": window.total})


def _shown(shown: Shown, file: Opened, wanted: Wanted, ledger: Ledger, stamp: Stamp, facts: dict[str, Any]) -> Result:
    ranges = shown.ranges()
    if wanted.if_changed and _covered(ranges, ledger.shown_of(stamp)):
        text = f"{file.path!r} is unchanged, and these lines were shown already."
        return _fact(text, file, facts | {"unchanged": True})
    text, notes = shown.text()
    version = version_of(file.descriptor) if ranges == [(0, stamp.size)] else None
    if Stamp.of(os.fstat(file.descriptor)) != stamp:
        facts["changed_meanwhile"] = True
        notes.append("the file was changed while it was read")
    elif shown.is_faithful:
        for start, end in ranges:
            ledger.record(stamp, start, end)
    if version and "changed_meanwhile" not in facts:
        facts["version"] = version
    facts |= shown.facts(wanted.limit, wanted.tail)
    notes += shown.hints(facts)
    if file.note:
        notes.append(file.note)
    if notes:
        facts["note"] = "; ".join(notes)
        text += ("" if text.endswith("\n") else "\n") + f"[{facts['note']}]"
    return Result.ok(text, metadata=facts)


def _fact(text: str, file: Opened, facts: dict[str, Any]) -> Result:
    return Result.ok(f"{text}\n[{file.note}]" if file.note else text, metadata=facts)


def _covered(ranges: list[tuple[int, int]], known: list[tuple[int, int]]) -> bool:
    return all(any(low <= start and end <= high for low, high in known) for start, end in ranges)
