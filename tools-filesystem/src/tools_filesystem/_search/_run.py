"""One search of contents: count, choose the lines of this page, and read them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from tools_filesystem._kernel import is_made_up
from tools_filesystem._resolve import open_regular
from tools_filesystem._search._engines import Counted, Order
from tools_filesystem._search._folders import Skipped, Walk
from tools_filesystem._search._hits import Lines
from tools_filesystem._search._scan import BinaryFileError, Part
from tools_filesystem._search._start import prefix_of, rules_above, visible
from tools_filesystem._step import SpecialFileError, check_regular, reopen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tools_filesystem._names import Opened
    from tools_filesystem._search._budget import Budget
    from tools_filesystem._search._engines import Engine
    from tools_filesystem._search._wanted import Wanted

MOST_SHOWN = 100_000  # characters of one result
_COUNTED = 10_000  # matches up to which every engine tells the total exactly
_SNIFFED = 1 << 16
_AT_ONCE = 64  # files that are open while their lines are read


class Shape(NamedTuple):
    """What a result is to look like."""

    mode: str
    limit: int
    offset: int
    before: int
    after: int
    width: int


class Search:
    """What a search has found, and the page of it that was asked for."""

    def __init__(self, engine: Engine, shape: Shape, budget: Budget) -> None:
        self.engine = engine
        self.shape = shape
        self.skipped = Skipped()
        self.lines: list[str] = []
        self.files = self.matches = self.binary = self.clamped = self.changed = 0
        self.reached = shape.offset  # how many lie before what comes next
        self.is_whole = True
        self.is_binary = False  # the one file that was to be searched
        self._budget = budget
        self._room = MOST_SHOWN

    @property
    def total(self) -> int:
        """How many there are of what is paged through."""
        return self.matches if self.shape.mode == "content" else self.files

    def in_folder(self, start: Opened, wanted: Wanted, *, ignore: bool) -> None:
        """Search a folder with all that is below it."""
        if is_made_up(os.fstat(start.descriptor)):
            raise SpecialFileError(start.path)
        rules, prefix = rules_above(start.place) if ignore else (None, "")
        walk = Walk(start.descriptor, wanted, self._budget, ignore=rules, prefix=prefix)
        shape = self.shape
        enough = 1 << 60 if shape.mode == "count" else max(shape.offset + shape.limit + 1, _COUNTED)
        counted = self.engine.count(start.descriptor, walk, Order(wanted, enough, shape.mode == "files"))
        self.skipped = walk.skipped
        self._page(counted, prefix_of(start.path), lambda path: open_regular(start.place.join(path)))

    def in_file(self, start: Opened) -> None:
        """Search one file, whatever its name."""
        check_regular(os.fstat(start.descriptor).st_mode, start.path)
        file = reopen(start.descriptor)
        try:
            if b"\0" in os.pread(file, _SNIFFED, 0):
                self.is_binary = True
                return
            count = self.engine.count_in(file)
            self._page(Counted([(start.path, count)] if count else []), "", lambda _: os.dup(file))
        except BinaryFileError:
            self.is_binary = True
        finally:
            os.close(file)

    def _page(self, counted: Counted, prefix: str, open_file: Callable[[str], int]) -> None:
        found, self.is_whole = counted.found, counted.is_whole
        self.binary, self.files = counted.binary, len(found)
        self.skipped.unreadable += counted.unreadable
        self.matches = sum(count for _, count in found)
        shape = self.shape
        if shape.mode == "content":
            self._budget.extend()
            self._content(list(_chosen(found, shape.offset, shape.limit)), prefix, open_file)
            return
        page = found[shape.offset : shape.offset + shape.limit]
        self.reached += len(page)
        for path, count in page:
            shown = visible(prefix + path)
            self.lines.append(f"{shown}:{count}" if shape.mode == "count" else shown)

    def _content(self, chosen: list[tuple[str, int, int, int]], prefix: str, open_file: Callable[[str], int]) -> None:
        shape = self.shape
        for at in range(0, len(chosen), _AT_ONCE):
            parts: list[Part] = []
            paths: list[str] = []
            try:
                for path, count, skip, take in chosen[at : at + _AT_ONCE]:
                    try:
                        parts.append(Part(open_file(path), count, skip, take, shape.width))
                        paths.append(path)
                    except OSError:  # it has vanished, or become something else
                        self.changed += 1
                        self.reached += take
                hits = self.engine.hits(parts) if parts else []
                for part, path, lines in zip(parts, paths, hits, strict=True):
                    shown = Lines(part.file, lines, shape.before, shape.after, shape.width, self._room)
                    if not self._add(shown, visible(prefix + path), part.take):
                        return
            finally:
                for part in parts:
                    os.close(part.file)

    def _add(self, shown: Lines, path: str, wanted: int) -> bool:
        """Take the lines of one file in; whether there is room and time for more."""
        gaps = bool(self.shape.before or self.shape.after)
        rows = shown.shown(path, gaps=gaps)
        if gaps and rows and self.lines:
            self.lines.append("--")
        self.lines += rows
        self.clamped += shown.clamped
        self._room -= sum(map(len, rows)) + len(rows)
        if shown.is_full or (shown.taken < wanted and self._budget.is_over):
            self.reached += shown.taken
            return False
        self.changed += shown.taken < wanted  # fewer than were counted
        self.reached += wanted
        return True


def _chosen(found: list[tuple[str, int]], skip: int, left: int) -> Iterator[tuple[str, int, int, int]]:
    """The files that a page of lines is in, each with its lines that match, and how many to pass over and to take."""
    for path, count in found:
        if skip >= count:
            skip -= count
        elif left:
            take = min(count - skip, left)
            yield path, count, skip, take
            left -= take
            skip = 0
        else:
            return
