"""The two ways to search contents, alike from outside: by `rg`, or by ourselves."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from tools_core import ToolError
from tools_filesystem._search._folders import DEEPEST
from tools_filesystem._search._landlock import can_confine
from tools_filesystem._search._ripgrep import Ripgrep, batches, find_rg
from tools_filesystem._search._scan import BinaryFileError, Counts, finder, hits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools_filesystem._search._budget import Budget
    from tools_filesystem._search._folders import Walk
    from tools_filesystem._search._regex import Query
    from tools_filesystem._search._scan import Hit
    from tools_filesystem._search._wanted import Wanted
    from tools_filesystem._workspace import Workspace

Choice = Literal["auto", "rg", "own"]


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

    def hits(self, files: list[tuple[int, int, int]]) -> list[list[Hit]]:
        """For each open file, with how many matching lines to pass over and how many to take: those lines."""
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

    def hits(self, files: list[tuple[int, int, int]]) -> list[list[Hit]]:
        """See Engine."""
        return [list(self._hits(file, skip, take)) for file, skip, take in files]

    def _hits(self, file: int, skip: int, take: int) -> Iterator[Hit]:
        try:
            yield from islice(hits(file, self._finder, self._budget), skip, skip + take)
        except BinaryFileError:  # it has become one since it was counted
            return


class RgEngine:
    """Walks by itself, and lets `rg` look into the files of each folder."""

    name = "rg"

    def __init__(self, program: str, query: Query, budget: Budget) -> None:
        self._rg = Ripgrep(program, query, budget)

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

    def hits(self, files: list[tuple[int, int, int]]) -> list[list[Hit]]:
        """See Engine."""
        return self._rg.hits(files)


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
