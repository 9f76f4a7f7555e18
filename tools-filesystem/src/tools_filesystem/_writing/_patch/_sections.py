"""A parsed patch: sections, one for each file, and their hunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, NoReturn

from tools_core import ToolError
from tools_filesystem._writing._near_miss import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Literal

BLANK = ("", "\r")  # an empty line that stays, written without its space


class Line(NamedTuple):
    """One line of a hunk: `kind` is " " (unchanged), "-" (removed) or "+" (added), `text` has no line feed."""

    kind: str
    text: bytes


class Hunk(NamedTuple):
    """Part of a file before and after the change.

    `number` is the hunk's line in the patch, `start` the line of the file that it claims to begin at. `anchors` are
    lines that it lies below. `old_ends` and `new_ends` mean that the file has no final line feed, before or after.
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
        """The lines before the change."""
        return [line.text for line in self.lines if line.kind != "+"]

    @property
    def new(self) -> list[bytes]:
        """The lines after the change."""
        return [line.text for line in self.lines if line.kind != "-"]

    def without_last_blank(self) -> Hunk | None:
        """Return the hunk without an empty old line at its end; None if it has none."""
        last = max((at for at, line in enumerate(self.lines) if line.kind != "+"), default=-1)
        if last < 0 or self.lines[last] != Line(" ", b"") or len(self.old) == 1 or self.old_ends:
            return None
        return self._replace(lines=self.lines[:last] + self.lines[last + 1 :])

    def count(self, kind: str) -> int:
        """Return how many lines are of a kind."""
        return sum(line.kind == kind for line in self.lines)


class Section(NamedTuple):
    """The change of one file. Only an update can have a `destination`; `executable` None keeps the mode.

    `exact` is set where the patch shows all of a file that it deletes.
    """

    number: int
    action: Literal["add", "update", "delete"]
    path: str
    hunks: tuple[Hunk, ...] = ()
    destination: str | None = None
    executable: bool | None = None
    exact: bool = False


def hunk_of(
    number: int, numbered: Iterable[tuple[int, str]], *, anchors: Sequence[bytes] = (), start: int | None = None,
    at_end: bool = False,
) -> Hunk:  # fmt: skip
    """Return the hunk of some lines of a patch; ToolError for lines that are not content, or no change at all."""
    lines: list[Line] = []
    old_ends = new_ends = False
    for at, line in numbered:
        if line.startswith("\\") and lines:  # "\ No newline at end of file"
            old_ends |= lines[-1].kind != "+"
            new_ends |= lines[-1].kind != "-"
            continue
        kind = " " if line in BLANK else line[0]
        if kind not in " +-":
            refuse(at, f"{shown(line)} is neither content, which begins with ' ', '-' or '+', nor a known marker")
        if (old_ends and kind != "+") or (new_ends and kind != "-"):
            refuse(at, "after '\\ No newline at end of file' that side of the file is over")
        lines.append(Line(kind, (line if line in BLANK else line[1:]).encode()))
    if not lines:
        refuse(number, "this hunk is empty: its lines begin with ' ' (keep), '-' (remove) or '+' (add)")
    hunk = Hunk(number, tuple(lines), tuple(anchors), start, at_end, old_ends, new_ends)
    if hunk.old == hunk.new and old_ends == new_ends:
        refuse(number, "this hunk changes nothing: removed lines begin with '-', added lines with '+'")
    return hunk


def refuse(number: int, reason: str) -> NoReturn:
    """Raise ToolError: the patch cannot be read at this line."""
    message = f"line {number} of the patch: {reason}. Nothing was changed."
    raise ToolError(message, "validation_error")
