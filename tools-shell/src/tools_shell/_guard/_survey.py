"""`Survey`: the git directories and protected names of a folder tree, looked up in a bounded time."""

from __future__ import annotations

import functools
import os
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from tools_core.files import fold_name, is_git_directory, is_protected

if TYPE_CHECKING:
    from collections.abc import Iterator

Stamp: TypeAlias = tuple[int, ...]  # device, inode, and the change time, which commands cannot set

_MAX_FOLDERS = 100_000
_BUDGET = 0.012  # seconds of one look at known folders, and of one search for others
_LEAST = 300  # folders in spite of that, since a busy machine may stop this process for longer
_NEW_BUDGET = 0.3  # seconds for folders that a command has created
_SETTLED = 50_000_000  # nanoseconds: the resolution of folder times
_MARK_SIZE = len("commondir")  # of the longest name that tells a git directory
# Folders of package managers and caches, without repositories of the user.
_SKIPPED = frozenset(("node_modules", "__pycache__", ".venv", "venv", ".tox", ".nox", "site-packages"))
PARTS_OF_GIT = ("modules", "worktrees")  # parts of a git directory that contain more git directories


class Place(NamedTuple):
    """A protected file or folder, or a git directory."""

    path: str
    is_repository: bool
    is_new: bool  # in a folder that appeared between two looks


class _Folder(NamedTuple):
    stamp: Stamp  # empty if it may change without a new one
    folders: tuple[str, ...]
    protected: tuple[str, ...]  # names; "" if the folder itself is a git directory


class Survey:
    """What is known of the folders below `root`; links are not followed.

    A folder is listed again when its change time differs. Each look has a time limit: the folders at the top come
    first, and the next look continues with the others. `is_complete` is False if the last look omitted folders.
    """

    def __init__(self, root: str, names: frozenset[str]) -> None:
        self.is_complete = False
        self._root, self._names = root, names
        self._lock = threading.Lock()
        self._folders: dict[str, _Folder] = {}
        self._places: dict[str, tuple[Place, ...]] = {}  # by folder
        self._unlisted = deque[str]()
        self._next = 0  # the number of the known folder at which the last look stopped
        self._last_names = frozenset(fold_name(name.rpartition("/")[2]) for name in names)

    def search(self) -> None:
        """Look for changes of known folders since the last look, and list more folders."""
        with self._lock:
            self._look()
            self._list(self._unlisted, time.monotonic() + _BUDGET, is_new=False)
            self.is_complete &= not self._unlisted

    def look(self) -> None:
        """Look for changes of known folders since the last look."""
        with self._lock:
            self._look()

    def _look(self) -> None:
        until = time.monotonic() + _BUDGET
        if self._root not in self._folders:  # at first, or it was moved away for a while
            self._unlisted.appendleft(self._root)
        known = [*self._folders]
        start = self._next if self._next < len(known) else 0
        self._next = 0
        changed: list[str] = []
        for number, path in enumerate(known[start:], start):
            if _stamp(path) != self._folders[path].stamp:
                changed.append(path)
            if number - start >= _LEAST and not number % 64 and time.monotonic() > until:
                self._next = number + 1
                break
        self._list(deque(changed), time.monotonic() + _NEW_BUDGET, is_new=True)
        self.is_complete = not (start or self._next)

    def places(self) -> Iterator[Place]:
        """Yield the places in known folders, those at the top first."""
        with self._lock:
            found = [*self._places.values()]
        for places in found:
            yield from places

    def _list(self, waiting: deque[str], until: float, *, is_new: bool) -> None:
        count = 0
        while waiting and (count < _LEAST or time.monotonic() < until) and len(self._folders) < _MAX_FOLDERS:
            count += 1
            path = waiting.popleft()
            before = self._folders.get(path)
            self._places.pop(path, None)
            try:
                folder, places = self._listing(path, before, is_new=is_new)
            except OSError:  # removed, or not permitted
                self._folders.pop(path, None)
                continue
            self._folders[path] = folder
            if places:
                self._places[path] = places
            known = before.folders if before is not None else ()
            waiting.extend(name for name in folder.folders if name not in known)
        if waiting is not self._unlisted:
            self._unlisted.extendleft(waiting)

    def _listing(self, path: str, before: _Folder | None, *, is_new: bool) -> tuple[_Folder, tuple[Place, ...]]:
        stamp = _stamp(path)
        folders, places, marks = [], [], []
        known = before.protected if before is not None else ()
        parent = os.path.basename(path)
        with os.scandir(path) as entries:
            for entry in entries:
                name = entry.name
                if self._is_protected(name, parent):
                    is_git = fold_name(name) == ".git" and entry.is_dir(follow_symlinks=False)
                    places.append(Place(f"{path}/{name}", is_git, is_new and name not in known))
                    folders += [f"{path}/{name}/{part}" for part in PARTS_OF_GIT] if is_git else []
                elif name not in _SKIPPED and entry.is_dir(follow_symlinks=False):
                    folders.append(f"{path}/{name}")
                if len(name) <= _MARK_SIZE:
                    marks.append(name)
        if ".git" in self._names and is_git_directory(marks):
            places.append(Place(path, is_repository=True, is_new=is_new and "" not in known))
            folders = [f"{path}/{part}" for part in PARTS_OF_GIT]
        names = tuple(place.path[len(path) + 1 :] for place in places)
        is_settled = stamp is not None and time.time_ns() - stamp[2] > _SETTLED
        return _Folder(stamp if stamp and is_settled else (), tuple(folders), names), tuple(places)

    def _is_protected(self, name: str, parent: str) -> bool:
        return _folded(name) in self._last_names and (
            is_protected(name, self._names) or is_protected(f"{parent}/{name}", self._names)
        )


@functools.lru_cache(100_000)
def _folded(name: str) -> str:
    return fold_name(name)


def _stamp(path: str) -> Stamp | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_ctime_ns


@functools.lru_cache(64)
def survey_of(root: str, names: frozenset[str]) -> Survey:
    """Return the survey of a folder, which all commands of this process share."""
    return Survey(root, names)


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=survey_of.cache_clear)  # another thread of the parent may have held a lock
