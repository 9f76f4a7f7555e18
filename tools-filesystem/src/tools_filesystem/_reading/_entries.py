"""What is in a folder and below it."""

from __future__ import annotations

import os
import stat
from collections import deque
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import TYPE_CHECKING, Literal

from tools_filesystem._paths._resolve import open_folder, open_inner

if TYPE_CHECKING:
    from tools_core import Context
    from tools_filesystem._paths._access import PinnedRoot
    from tools_filesystem._paths._locate import Located

Order = Literal["name", "size", "modified"]

_TYPES = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "directory",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "pipe",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}


def type_of(mode: int) -> str:
    """Return the type of a file by its mode."""
    return _TYPES.get(stat.S_IFMT(mode), "special")


@dataclass(slots=True)
class Entry:
    """One name in a folder; `type` is "unknown" for what cannot be looked at.

    `children` is None for what was not listed; then `problem` may say why, and else it was too deep.
    """

    name: str
    type: str = "unknown"
    size: int = 0
    modified: float = 0.0
    target: str = ""
    children: list[Entry] | None = None
    total: int = 0
    problem: str = ""


@dataclass(slots=True)
class Listing:
    """A breadth-first walk, so that a folder with much in it hides no other."""

    depth: int
    limit: int
    order: Order = "name"
    after: str = ""
    shown: int = field(default=0, init=False)
    total: int = field(default=0, init=False)

    def of(self, place: Located, context: Context) -> Entry:
        """The tree below a folder; OSError when it cannot be listed."""
        top = Entry(".", "directory")
        start = [] if place.below == "." else place.below.split("/")
        waiting = deque([(top, start, 1)])
        while waiting:
            entry, where, level = waiting.popleft()
            if level > 1 and (self.shown >= self.limit or context.cancelled):
                entry.problem = "not listed"
                continue
            try:
                folder = place.open_folder() if level == 1 else _open(place.root, where)
                self._fill(entry, folder, self.after if level == 1 else "")
            except OSError as error:
                if level == 1:
                    raise
                entry.problem = (error.strerror or "unreadable").lower()
            if level < self.depth:
                inner = [child for child in entry.children or () if child.type == "directory"]
                waiting.extend((child, [*where, child.name], level + 1) for child in inner)
        return top

    def _fill(self, entry: Entry, folder: int, after: str) -> None:
        try:
            names = [name for name in os.listdir(folder) if name > after]
            most = self.limit - self.shown
            if self.order == "name":
                entry.children = [_looked_at(folder, name) for name in nsmallest(most, names)]
            else:
                entry.children = nsmallest(most, (_looked_at(folder, name) for name in names), key=self._rank)
        finally:
            os.close(folder)
        entry.total = len(names)
        self.shown += len(entry.children)
        self.total += entry.total

    def _rank(self, entry: Entry) -> tuple[float, str]:
        return -(entry.size if self.order == "size" else entry.modified), entry.name


def _open(root: PinnedRoot, names: list[str]) -> int:
    folder = open_folder(root, names)
    try:
        return open_inner(folder)
    finally:
        os.close(folder)


def _looked_at(folder: int, name: str) -> Entry:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        target = os.readlink(name, dir_fd=folder) if stat.S_ISLNK(found.st_mode) else ""
    except OSError:
        return Entry(name, problem="gone, or not permitted")
    return Entry(name, type_of(found.st_mode), found.st_size, found.st_mtime, target)
