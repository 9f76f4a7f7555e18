"""A parsed patch: sections, each of which changes one file, and their hunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, NoReturn

from tools_core import ToolError
from tools_filesystem._writing._near_miss import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Literal

BLANK = ("", "\r")  # an unchanged empty line without its leading space


class Line(NamedTuple):
    """One line of a hunk: `kind` is " " (unchanged), "-" (removed) or "+" (added); `text` has no line feed.

    `is_bare` is set for an empty line without a prefix: unchanged, or between hunks.
    """

    kind: str
    text: bytes
    is_bare: bool = False


class Hunk(NamedTuple):
    """Part of a file before and after the change.

    `number` is the hunk's line in the patch, `start` the line of the file in its header, and `anchors` are the headings
    above it. `at_end` requires the end of the file. `is_marked` means that one side or both have no final line feed;
    the other one ends with an empty line, which stands for the end.
    """

    number: int
    lines: tuple[Line, ...]
    anchors: tuple[bytes, ...] = ()
    start: int | None = None
    at_end: bool = False
    is_marked: bool = False

    @property
    def old(self) -> list[bytes]:
        """The lines before the change."""
        return [line.text for line in self.lines if line.kind != "+"]

    @property
    def new(self) -> list[bytes]:
        """The lines after the change."""
        return [line.text for line in self.lines if line.kind != "-"]

    def variants(self) -> list[Hunk]:
        """Return the ways to read the hunk; an empty line at its end may also be the end of the file, or a gap."""
        variants: list[Hunk] = [self]
        if self.old[1:] and not self.old[-1] and self._has_end_on_both_sides():
            variants.append(self._without_end())
        bare = [not line.is_bare for line in self.lines]
        core = self.lines[bare.index(True) : len(bare) - bare[::-1].index(True)]
        if len(core) < len(self.lines) and any(line.kind != "+" for line in core):
            variants.append(self._replace(lines=core))
        return variants

    def _has_end_on_both_sides(self) -> bool:
        """Return whether the last empty line may be the end of the file, which a hunk cannot delete."""
        last = next(line for line in reversed(self.lines) if line.kind != "+")
        return last.kind == " " or bool(self.new and not self.new[-1])

    def _without_end(self) -> Hunk:
        """Return the hunk for a file without the last empty line on both sides."""
        lines = list(self.lines)
        last = max(at for at, line in enumerate(lines) if line.kind != "+")
        lines[last : last + 1] = [Line("+", b"")] if lines[last].kind == " " else []
        last = max((at for at, line in enumerate(lines) if line.kind != "-"), default=0)
        if lines[last].kind != "-" and not lines[last].text:
            lines[last : last + 1] = [Line("-", b"")] if lines[last].kind == " " else []
        return self._replace(lines=tuple(lines), at_end=True)

    def count(self, kind: str) -> int:
        """Return the number of lines of a kind."""
        return sum(line.kind == kind for line in self.lines)


class Section(NamedTuple):
    """The change of one file. Only an update can have a `destination`, and can be a copy, which keeps the old file.

    `shows_all` is set if the patch must show all lines of a file that it deletes. `is_executable` is the new mode, if
    the patch has one.
    """

    number: int
    action: Literal["add", "update", "delete"]
    path: str
    hunks: tuple[Hunk, ...] = ()
    destination: str | None = None
    shows_all: bool = False
    is_copy: bool = False
    is_executable: bool | None = None


def hunk_of(
    number: int, numbered: Iterable[tuple[int, str]], *, anchors: Sequence[bytes] = (), start: int | None = None,
    at_end: bool = False,
) -> Hunk:  # fmt: skip
    """Parse the lines of a hunk; ToolError for lines that are not content, or if nothing changes."""
    lines: list[Line] = []
    old_ends = new_ends = False
    for at, line in numbered:
        if line.startswith("\\") and lines:  # "\ No newline at end of file"
            old_ends |= lines[-1].kind != "+"
            new_ends |= lines[-1].kind != "-"
            continue
        kind = " " if line in BLANK else line[0]
        if kind not in " +-":
            refuse(at, f"{quoted(line)} is not a hunk line, which begins with ' ', '-' or '+', and not a marker")
        if (old_ends and kind != "+") or (new_ends and kind != "-"):
            refuse(at, "no lines may follow '\\ No newline at end of file' on the same side")
        lines.append(Line(kind, (line if line in BLANK else line[1:]).encode(), is_bare=line in BLANK))
    if not lines:
        refuse(number, "this hunk is empty: its lines begin with ' ' (keep), '-' (remove) or '+' (add)")
    if old_ends != new_ends:
        lines.append(Line("-" if new_ends else "+", b""))
    hunk = Hunk(number, tuple(lines), tuple(anchors), start, at_end or old_ends or new_ends, old_ends or new_ends)
    if hunk.old == hunk.new:
        refuse(number, "this hunk changes nothing: removed lines begin with '-', added lines with '+'")
    return hunk


def refuse(number: int, reason: str) -> NoReturn:
    """Raise ToolError: the patch cannot be read at this line."""
    message = f"patch line {number}: {reason}. Nothing was changed."
    raise ToolError(message, "validation_error")
