"""A parsed patch: sections, one for each file, and their hunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, NoReturn

from tools_core import ToolError

if TYPE_CHECKING:
    from typing import Literal


class Line(NamedTuple):
    """One line of a hunk: `kind` is " " (stays), "-" (goes) or "+" (comes), `text` has no line feed."""

    kind: str
    text: bytes


class Hunk(NamedTuple):
    """A piece of a file before and after.

    `number` is the hunk's line in the patch, `start` the line of the file that it claims to begin at. `anchors` are
    lines that it lies below. `old_ends` and `new_ends` say that the file had, or gets, no line feed at its end.
    """

    number: int
    lines: tuple[Line, ...]
    anchors: tuple[bytes, ...] = ()
    start: int | None = None
    at_end: bool = False
    old_ends: bool = False
    new_ends: bool = False

    @property
    def old(self) -> list[bytes]:
        """The lines that must be there."""
        return [line.text for line in self.lines if line.kind != "+"]

    @property
    def new(self) -> list[bytes]:
        """The lines that will be there."""
        return [line.text for line in self.lines if line.kind != "-"]

    def without_last_blank(self) -> Hunk | None:
        """Return the hunk without an empty old line at its end; None if it has none."""
        last = len(self.lines) - 1
        while last >= 0 and self.lines[last].kind == "+":
            last -= 1
        if last < 0 or self.lines[last] != Line(" ", b"") or len(self.old) == 1 or self.old_ends:
            return None
        return self._replace(lines=self.lines[:last] + self.lines[last + 1 :])

    def count(self, kind: str) -> int:
        """Return how many lines are of a kind."""
        return sum(line.kind == kind for line in self.lines)

    def as_text(self) -> list[str]:
        """The lines as a unified diff has them."""
        shown: list[str] = []
        old, new = len(self.old), len(self.new)
        for line in self.lines:
            shown.append(line.kind + line.text.decode("utf-8", "backslashreplace"))
            old -= line.kind != "+"
            new -= line.kind != "-"
            if (self.old_ends and not old and line.kind != "+") or (self.new_ends and not new and line.kind != "-"):
                shown.append("\\ No newline at end of file")
        return shown


class Section(NamedTuple):
    """The change of one file. Only an update may have a `destination`; `executable` None leaves the mode alone.

    `exact` is set where the patch shows all of a file that it deletes.
    """

    number: int
    action: Literal["add", "update", "delete"]
    path: str
    hunks: tuple[Hunk, ...] = ()
    destination: str | None = None
    executable: bool | None = None
    exact: bool = False


class HunkBuilder:
    """A hunk while its lines are read."""

    def __init__(self, number: int, start: int | None = None) -> None:
        self.number = number
        self.start = start
        self.anchors: list[bytes] = []
        self.lines: list[Line] = []
        self.at_end = self.old_ends = self.new_ends = False
        self._blank: set[int] = set()

    def add(self, number: int, line: str) -> bool:
        """Take a content line, or the remark that a line has no line feed; False for what is neither."""
        if line[:1] in ("+", "-", " ") and line:
            self._check_open(number, line[0])
            self.lines.append(Line(line[0], line[1:].encode()))
        elif line in ("", "\r"):  # an empty line that stays, written without its space
            self._blank.add(len(self.lines))
            self.lines.append(Line(" ", line.encode()))
        elif line.startswith("\\") and self.lines:
            kind = self.lines[-1].kind
            self.old_ends |= kind != "+"
            self.new_ends |= kind != "-"
        else:
            return False
        return True

    def _check_open(self, number: int, kind: str) -> None:
        if (self.old_ends and kind != "+") or (self.new_ends and kind != "-"):
            refuse(number, "after '\\ No newline at end of file' that side of the file is over")

    def drop_blank_edges(self) -> None:
        """Leave out bare empty lines around the hunk: they may as well separate it from the next one."""
        first, last = 0, len(self.lines)
        while last > first and last - 1 in self._blank:
            last -= 1
        while first < last and first in self._blank:
            first += 1
        self.lines = self.lines[first:last]

    def finish(self) -> Hunk:
        """The hunk; one that changes nothing is refused."""
        hunk = Hunk(
            self.number, tuple(self.lines), tuple(self.anchors), self.start,
            at_end=self.at_end, old_ends=self.old_ends, new_ends=self.new_ends,
        )  # fmt: skip
        if not hunk.lines:
            refuse(self.number, "this hunk is empty: its lines begin with ' ' (stays), '-' (goes) or '+' (comes)")
        if hunk.old == hunk.new and hunk.old_ends == hunk.new_ends:
            refuse(self.number, "this hunk changes nothing: what goes begins with '-', what comes with '+'")
        return hunk


def refuse(number: int, reason: str) -> NoReturn:
    """The patch cannot be read at this line."""
    message = f"line {number} of the patch: {reason}. Nothing was changed."
    raise ToolError(message, "validation_error")


def shown(line: str | bytes) -> str:
    """A line for a message: clipped, its control characters visible."""
    text = line if isinstance(line, str) else line.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= 80 else f"{text[:77]}...")
