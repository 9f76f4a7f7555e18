"""Walking through folders by descriptors, for searches: no link is followed, and no race leads out."""

from __future__ import annotations

import errno
import os
from itertools import islice
from typing import TYPE_CHECKING, Generic, Protocol, Self, TypeVar

from tools_filesystem._search._ignore import NAMES, names_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools_filesystem._search._budget import Budget
    from tools_filesystem._search._ignore import Ignore

DEEPEST = 100  # folders inside each other, each of which keeps a descriptor open
_MOST_NAMED = 5
_LARGE, _MOST_LARGE = 1 << 20, 1000
_OFTEN = 4096  # entries that are taken from a folder at once
_RARELY = 256  # entries between two looks at the clock, at least
_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


class Interest(Protocol):
    """What a search wants to see of a folder."""

    # A quick no: a file is asked about only if its name has one of these; ("",) for every file. With `by_ending` it is
    # also a yes, except for hidden names.
    endings: tuple[str, ...]
    by_ending: bool

    def takes(self, name: str) -> bool:
        """Whether a file of this name is wanted."""
        ...

    def enters(self, name: str) -> Self | None:
        """What is wanted of a folder of this name; None to leave it out."""
        ...


_I = TypeVar("_I", bound=Interest)


class Skipped:
    """What a walk did not look at."""

    __slots__ = ("ignored", "large", "mounts", "names", "rules", "too_deep", "unreadable")

    def __init__(self) -> None:
        self.ignored = self.unreadable = self.mounts = self.too_deep = self.rules = 0
        self.names: list[str] = []  # the first of what could not be read
        self.large: list[str] = []  # ignored files that would take long to search

    def cannot_read(self, path: str) -> None:
        """Count it, and keep the first few names."""
        self.unreadable += 1
        if len(self.names) < _MOST_NAMED:
            self.names.append(path)


class Walk(Generic[_I]):
    """Walks folder after folder, the files of one before its folders, and both in the order of their names.

    Each turn has the folder's descriptor, which is held open so long; its path from where the walk began, with a slash
    at its end, or empty; the names of the wanted files; and what was wanted. `ignore` has the rules that are in force
    where the walk begins, or is None for none at all; `prefix` is the path of that place as those rules know it. Links
    are never followed, and other file systems (`/proc` among them) never entered.
    """

    def __init__(
        self,
        start: int,
        interest: _I,
        budget: Budget,
        *,
        ignore: Ignore | None = None,
        prefix: str = "",
        links: bool = False,
    ) -> None:
        self.skipped = Skipped()
        self._start, self._interest = start, interest
        self._budget = budget
        self._ignore, self._prefix = ignore, prefix
        self._links = links
        self._seen = _RARELY  # entries since the last look at the clock, which the first folder begins with
        self._device = os.fstat(start).st_dev if _may_have_mounts(start) else None

    def __iter__(self) -> Iterator[tuple[int, str, list[str], _I]]:
        held: list[int] = []  # descriptors, from the top down to the current folder
        # What is left to enter, the next one last: how deep it lies, its name and path, and what holds there.
        todo = [(0, ".", "", self._interest, self._ignore)]
        try:
            while todo and self._budget.stopped is None:
                depth, name, path, interest, ignore = todo.pop()
                while len(held) > depth:
                    os.close(held.pop())
                try:
                    descriptor = os.open(name, _FLAGS, dir_fd=held[-1] if held else self._start)
                except OSError as error:
                    self._cannot_enter(path, error)
                    continue
                held.append(descriptor)
                if self._device is not None and os.fstat(descriptor).st_dev != self._device:
                    self.skipped.mounts += 1
                    continue
                files, folders, special = self._list(descriptor, path, interest)
                if ignore is not None and (special or ignore.has_rules):
                    ignore, files, folders = self._heed(ignore, descriptor, path, files, folders, special)
                for inner in sorted(folders, reverse=True) if folders else ():
                    wanted = interest.enters(inner)
                    if wanted is None:
                        continue
                    if depth == DEEPEST:
                        self.skipped.too_deep += 1
                        continue
                    todo.append((depth + 1, inner, f"{path}{inner}/", wanted, ignore))
                files.sort()
                yield descriptor, path, files, interest
        finally:
            for descriptor in held:
                os.close(descriptor)

    def is_free(self) -> bool:
        """Whether no ignore file is in force where the walk begins, nor is there one."""
        if self._ignore is None:
            return True
        return not self._ignore.has_rules and not names_in(self._start)

    def _list(self, descriptor: int, path: str, interest: _I) -> tuple[list[str], list[str], set[str]]:
        files: list[str] = []
        folders: list[str] = []
        special: set[str] = set()
        # This loop is what a search for names spends its time in.
        endings, by_ending, takes, links = interest.endings, interest.by_ending, interest.takes, self._links
        has_any_ending, may_be_hidden = "" in endings, False
        more = True
        try:
            with os.scandir(descriptor) as entries:
                while more:
                    some = list(islice(entries, _OFTEN))
                    more = len(some) == _OFTEN
                    self._seen += len(some) + 1
                    if self._seen >= _RARELY:
                        more = self._budget.take(self._seen) and more
                        self._seen = 0
                    for entry in some:
                        name = entry.name
                        if name < "/":  # it begins with a dot, or with what sorts before one
                            may_be_hidden = True
                            if name in NAMES:
                                special.add(name)
                        if (
                            (has_any_ending or name.endswith(endings))
                            and (by_ending or takes(name))
                            and (entry.is_file(follow_symlinks=False) or (links and entry.is_symlink()))
                        ):
                            files.append(name)
                        elif entry.is_dir(follow_symlinks=False):
                            folders.append(name)
        except OSError:
            self.skipped.cannot_read(path)
        if by_ending and may_be_hidden:
            files = [name for name in files if name[0] != "." or takes(name)]
        return files, folders, special

    def _heed(
        self, ignore: Ignore, descriptor: int, path: str, files: list[str], folders: list[str], special: set[str]
    ) -> tuple[Ignore, list[str], list[str]]:
        where = self._prefix + path
        if special:
            ignore = ignore.within(descriptor, where, special)
            self.skipped.rules += ignore.dropped(where)
            if ".git" in special:  # never shown, which is no rule of the user's and not counted
                folders = [name for name in folders if name != ".git"]
                files = [name for name in files if name != ".git"]
        kept_files = [name for name in files if not ignore.hides(where + name, name, is_folder=False)]
        kept_folders = [name for name in folders if not ignore.hides(where + name, name, is_folder=True)]
        if len(kept_files) < len(files) and len(self.skipped.large) < _MOST_LARGE:
            self.skipped.large += [
                path + name for name in set(files).difference(kept_files) if _is_large(descriptor, name)
            ]
        self.skipped.ignored += len(files) - len(kept_files) + len(folders) - len(kept_folders)
        return ignore, kept_files, kept_folders

    def _cannot_enter(self, path: str, error: OSError) -> None:
        # It may have vanished meanwhile, or become a link or a file.
        if error.errno not in (errno.ENOENT, errno.ELOOP, errno.ENOTDIR):
            self.skipped.cannot_read(path)


def _is_large(folder: int, name: str) -> bool:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_size >= _LARGE
    except OSError:
        return False


def _may_have_mounts(folder: int) -> bool:
    """Whether a file system may be mounted below a folder, so that each folder in it must be asked for its own."""
    try:
        here = os.readlink(f"/proc/self/fd/{folder}")
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            places = [line.split(" ", 5)[4] for line in file]
    except (OSError, IndexError):
        return True
    # As that file writes names; none of them is longer than what a folder in it can be called.
    prefix = here.replace("\\", "\\134").replace(" ", "\\040").replace("\t", "\\011").replace("\n", "\\012")
    return any(place.startswith(prefix.rstrip("/") + "/") and place != "/" for place in places)
