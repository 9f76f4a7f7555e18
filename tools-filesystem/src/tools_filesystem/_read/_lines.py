"""A window of lines, each as far as it is shown, in memory that depends on neither the file nor its lines."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from tools_filesystem._read._source import ScanLimitError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools_filesystem._read._source import Source

LINE = 2000  # bytes of one line
BUDGET = 100_000  # bytes of one window
_FRAME = 8  # what a line's number takes
_CUT_FRAME = 80  # what the hint in a line that was cut takes
_LOOK_AHEAD = 256 << 20  # bytes that are passed to find the end of a line that was cut


class Piece(NamedTuple):
    """A line, or what is shown of it; `end` is where the file goes on, `more` how much of the line is left out."""

    line: int
    column: int  # the first byte shown, from 1
    start: int
    data: bytes
    ending: bytes
    more: int | None = 0  # None: it was too far to count

    @property
    def end(self) -> int:
        """The position of the first byte that is not shown."""
        return self.start + len(self.data) + len(self.ending)

    @property
    def cost(self) -> int:
        """What showing it takes of the budget."""
        return len(self.data) + len(self.ending) + _FRAME + (_CUT_FRAME if self.is_cut else 0)

    @property
    def is_cut(self) -> bool:
        """Whether the line goes on."""
        return self.more != 0


class Window(NamedTuple):
    """Pieces of consecutive lines; `total` is the number of lines, where the end of the file was reached."""

    pieces: list[Piece]
    has_more: bool
    total: int | None = None
    left_out: int = 0  # lines before the first piece which were asked for
    is_numbered: bool = True  # else the pieces are counted from 0

    def renumbered(self, before: int) -> Window:
        """The same with `before` more lines in front of it."""
        pieces = [piece._replace(line=piece.line + before) for piece in self.pieces]
        return self._replace(pieces=pieces, total=pieces[-1].line, is_numbered=True)


def from_line(source: Source, offset: int, limit: int, column: int, budget: int) -> Window:
    """At most `limit` lines from line `offset` on, the first of them from byte `column` on.

    Without pieces, there is either no such line (and `total` says how many there are), or no such column in it.
    """
    start, passed = source.find_line(offset)
    if passed < offset - 1 or not source.peek(start, 1):
        return Window([], has_more=False, total=passed + (not source.ends_with_newline()))
    position = start if column == 1 else _position_in_line(source, offset, start, column)
    room = budget if column > 1 else min(LINE, budget)
    first = None if position is None else _piece(source, offset, position, room, position - start + 1)
    if first is None:
        return Window([], has_more=True)
    window = _gathered(source, first, limit, budget)
    last = window.pieces[-1]
    source.stop_at(last.end, last.line if last.ending else last.line - 1)
    return window


def _gathered(source: Source, first: Piece, limit: int, budget: int) -> Window:
    """Go on from the first piece until one of the limits, or the end of the file."""
    pieces, spent = [first], first.cost
    while True:
        last = pieces[-1]
        is_full = len(pieces) >= limit or spent >= budget
        if last.is_cut:
            following = None if is_full else _line_end(source, last)
            if following is None:
                return Window(pieces, has_more=True)
            pieces[-1] = last._replace(more=following[1])
            position = following[0]
        else:
            position = last.end
        if not source.peek(position, 1):
            return Window(pieces, has_more=False, total=last.line)
        piece = None if is_full else _piece(source, last.line + 1, position, LINE)
        if piece is None or spent + piece.cost > budget:
            return Window(pieces, has_more=True)
        pieces.append(piece)
        spent += piece.cost


def last_lines(source: Source, lines: int, budget: int) -> Window:
    """The last lines, as many of them as the budget permits; nobody counts what is before them."""
    start, found = source.start_of_last(min(lines, budget))
    kept: deque[Piece] = deque()
    spent = left_out = 0
    for piece in _pieces(source, start, found):
        kept.append(piece)
        spent += piece.cost
        while spent > budget and len(kept) > 1:
            spent -= kept.popleft().cost
            left_out += 1
    return Window(list(kept), has_more=False, left_out=left_out, is_numbered=False)


def _pieces(source: Source, position: int, lines: int) -> Iterator[Piece]:
    """The lines from `position` on, the last of which reaches to the end of the file."""
    for line in range(lines):
        piece = _piece(source, line, position, LINE)
        if piece is None:  # the file has become shorter
            return
        position = piece.end
        if piece.is_cut:
            is_last = line == lines - 1
            position, passed = (source.size, 0) if is_last else source.pass_lines(position, 1)
            piece = piece._replace(more=position - piece.end - passed * source.encoding.width)
        yield piece


def _piece(source: Source, line: int, position: int, room: int, column: int = 1) -> Piece | None:
    """The line at `position`, or the beginning of it that fits into `room`; None at the end of the file."""
    encoding = source.encoding
    data = source.peek(position, room + 2 * encoding.width)
    if not data:
        return None
    end = encoding.find_newline(data)
    content, ending = (data, b"") if end < 0 else (data[:end], data[end : end + encoding.width])
    carriage = encoding.encoded("\r")
    if ending and content.endswith(carriage) and len(content) % encoding.width == 0:
        content, ending = content[: -len(carriage)], carriage + ending
    if len(content) <= room:
        return Piece(line, column, position, content, ending)
    return Piece(line, column, position, data[: encoding.boundary(data, room)], b"", None)


def _position_in_line(source: Source, line: int, start: int, column: int) -> int | None:
    """Where byte `column` of the line is, or the character that it belongs to; None behind the line's end."""
    position = start + (column - 1) // source.encoding.width * source.encoding.width
    if position >= source.size or source.newlines_before(position) >= line:
        return None
    before = max(start, position - 8)
    return before + source.encoding.boundary(source.peek(before, 16), position - before)


def _line_end(source: Source, cut: Piece) -> tuple[int, int] | None:
    """Where the line after a cut one begins, and how much is left out; None when that is far away."""
    try:
        position, passed = source.pass_lines(cut.end, 1, _LOOK_AHEAD, cut.line - 1)
    except ScanLimitError:
        return None
    return position, position - cut.end - passed * source.encoding.width
