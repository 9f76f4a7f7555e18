"""The two ways to search contents, alike from outside: by `rg`, or by ourselves."""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from tools_core import ToolError
from tools_filesystem._search._folders import DEEPEST
from tools_filesystem._search._landlock import can_confine
from tools_filesystem._search._ripgrep import Ripgrep, batches, find_rg
from tools_filesystem._search._scan import BinaryFileError, Counts, Text, finder, hits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools_filesystem._search._budget import Budget
    from tools_filesystem._search._folders import Walk
    from tools_filesystem._search._regex import Query
    from tools_filesystem._search._scan import Hit, Part
    from tools_filesystem._search._wanted import Wanted
    from tools_filesystem._workspace import Workspace

Choice = Literal["auto", "rg", "own"]

_FEW, _SMALL = 1000, 1 << 20  # matching lines of a file, and its bytes, that are found sooner than rg is started


class Order(NamedTuple):
    """What is to be counted: how many are `enough`, and whether a file counts once."""

    wanted: Wanted
    enough: int
    is_once: bool


class Counted(NamedTuple):
    """How many lines match in which files, in the order of the walk; `is_whole` unless there may be more."""

    found: list[tuple[str, int]]
    is_whole: bool = True
    binary: int = 0
    unreadable: int = 0


class Engine(Protocol):
    """Finds out how many lines match in which files, and then where those lines are."""

    name: str

    def count(self, start: int, walk: Walk[Wanted], order: Order) -> Counted:
        """Count in the files of a walk that begins at the descriptor `start`."""
        ...

    def count_in(self, file: int) -> int:
        """Count in one open file; BinaryFileError when it is none of text."""
        ...

    def hits(self, parts: list[Part]) -> list[list[Hit]]:
        """For each part: the lines to take."""
        ...


class OwnEngine:
    """Reads the files itself."""

    def __init__(self, query: Query, budget: Budget) -> None:
        self._finder = finder(query)
        self._budget = budget
        self.name = self._finder.name

    def count(self, start: int, walk: Walk[Wanted], order: Order) -> Counted:  # noqa: ARG002  (the walk is enough here)
        """See Engine."""
        counts = Counts(self._finder, self._budget, enough=order.enough, is_once=order.is_once)
        counts.run(walk)
        return Counted(counts.found, not counts.has_enough, counts.binary, counts.unreadable)

    def count_in(self, file: int) -> int:
        """See Engine."""
        return sum(1 for _ in hits(file, self._finder, self._budget))

    def hits(self, parts: list[Part]) -> list[list[Hit]]:
        """See Engine."""
        return [list(self._hits(part)) for part in parts]

    def _hits(self, part: Part) -> Iterator[Hit]:
        try:
            yield from islice(hits(part.file, self._finder, self._budget), part.skip, part.skip + part.take)
        except BinaryFileError:  # it has become one since it was counted
            return


class RgEngine:
    """Walks by itself, and lets `rg` look into the files of each folder."""

    name = "rg"

    def __init__(self, program: str, query: Query, budget: Budget) -> None:
        self._rg = Ripgrep(program, query, budget)
        self._text = Text(query.literal) if query.literal else None
        self._budget = budget

    def count(self, start: int, walk: Walk[Wanted], order: Order) -> Counted:
        """See Engine."""
        names: dict[str, list[str]] = {}
        wanted = order.wanted
        with self._rg.counting(start, endings=wanted.endings_everywhere()) as counting:
            # Where nothing seems to be left out rg can begin with the whole tree, and else as folders are found.
            if walk.is_free():
                counting.begin_all(DEEPEST + 1, hidden=wanted.hidden)
                names |= {path: files for _, path, files, _ in walk}
            else:
                for some in batches(_noted(walk, names)):
                    counting.begin(some, walk.skipped.large)
            found = counting.found()
        if order.is_once:
            found = dict.fromkeys(found, 1)
        # rg has looked into all files of these folders; which of them are wanted is known here.
        return Counted(_in_order(found, names), unreadable=int(self._rg.is_partial))

    def count_in(self, file: int) -> int:
        """See Engine."""
        return self._rg.count_in(file)

    def hits(self, parts: list[Part]) -> list[list[Hit]]:
        """See Engine."""
        found = {part.file: lines for part in parts if (lines := self._without_rg(part)) is not None}
        unsure = [part for part in parts if part.file not in found]
        if unsure:
            found |= self._rg.hits(unsure)
        return [found[part.file][part.skip : part.skip + part.take] for part in parts]

    def _without_rg(self, part: Part) -> list[Hit] | None:
        """All lines of a small file that match; None if only rg can tell."""
        if self._text is None or part.matches > _FEW or os.fstat(part.file).st_size > _SMALL:
            return None
        try:
            lines = list(islice(hits(part.file, self._text, self._budget), part.matches + 1))
        except BinaryFileError:
            return None
        # Every line that matches has the text in it: if there are as many with it as match, they are the same. Where in
        # them the match begins is not known, but matters only in long ones.
        is_sure = len(lines) == part.matches
        return None if not is_sure or any(_is_long(part, line) for line in lines) else lines


def _is_long(part: Part, line: Hit) -> bool:
    data = os.pread(part.file, part.width + 1, line.start)
    return len(data) > part.width and b"\n" not in data


def engine_for(choice: Choice, query: Query, budget: Budget, workspace: Workspace) -> Engine:
    """The engine that was chosen, or the quickest there is; ToolError when there is none for this query."""
    program = None if choice == "own" else find_rg(workspace)
    if program is not None and (choice == "rg" or can_confine()):
        return RgEngine(program, query, budget)
    if choice == "rg":
        message = "ripgrep (rg) is not installed outside the workspace; leave the choice of the engine to the tool"
        raise ToolError(message, "unavailable")
    try:
        return OwnEngine(query, budget)
    except ToolError as error:
        if program is None or error.type != "unavailable":
            raise
    # Unconfined, it can be made to count what is outside by swapping folders under it, but never to show any of that.
    return RgEngine(program, query, budget)


def _noted(walk: Walk[Wanted], names: dict[str, list[str]]) -> Iterator[str]:
    """The folders of a walk that have wanted files, which are noted."""
    for _, path, files, _ in walk:
        if files:
            names[path] = files
            yield path


def _in_order(found: dict[str, int], names: dict[str, list[str]]) -> list[tuple[str, int]]:
    """What was found among the files of the folders `names`, in the order of these."""
    by_folder: dict[str, list[tuple[str, int]]] = {}
    for path, count in found.items():
        folder = path[: path.rfind("/") + 1]
        by_folder.setdefault(folder, []).append((path[len(folder) :], count))
    out: list[tuple[str, int]] = []
    for folder, files in names.items():
        if folder in by_folder:
            known = set(files)
            out += [(folder + name, count) for name, count in sorted(by_folder[folder]) if name in known]
    return out
