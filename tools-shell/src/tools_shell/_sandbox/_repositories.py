"""A bounded search for repositories and protected names below a folder."""

from __future__ import annotations

import os
import time
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from tools_core.files import is_git_directory, is_protected

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_FOLDERS = 100_000
_SETTLED = 50_000_000  # nanoseconds: the resolution of folder times
PARTS_OF_GIT = ("modules", "worktrees")  # parts of a git directory that contain more git directories
# Folders of package managers and caches, without repositories of the user.
_SKIPPED = frozenset(("node_modules", "__pycache__", ".venv", "venv", ".tox", ".nox"))


class Listing(NamedTuple):
    """The relevant entries of a folder."""

    folders: tuple[str, ...]
    protected: tuple[str, ...]
    is_git_directory: bool


# By path, with the folder's identity and time: checking those is ten times as fast as listing the folder.
_cache: dict[tuple[str, frozenset[str]], tuple[tuple[int, int, int], Listing]] = {}


def walk(root: str, names: frozenset[str]) -> Iterator[tuple[str, Listing | None]]:
    """Yield folders from `root` down with their relevant entries; None as the last item if the search stops early.

    Links are not followed. In git directories only submodules and worktrees are searched.
    """
    waiting, count = deque([root]), 0
    while waiting:
        path = waiting.popleft()
        count += 1
        if count > _MAX_FOLDERS:
            yield path, None
            return
        try:
            listing = _listing(path, names)
        except OSError:  # removed, or not permitted
            continue
        yield path, listing
        below = PARTS_OF_GIT if listing.is_git_directory else listing.folders
        waiting.extend(f"{path}/{name}" for name in below)


def _listing(path: str, names: frozenset[str]) -> Listing:
    status = os.stat(path, follow_symlinks=False)
    stamp = status.st_dev, status.st_ino, status.st_ctime_ns  # commands can set the modification time
    cached = _cache.get((path, names))
    if cached is not None and cached[0] == stamp:
        return cached[1]
    listing = _list(path, names)
    if time.time_ns() - status.st_ctime_ns > _SETTLED:
        if len(_cache) > _MAX_FOLDERS:
            _cache.clear()
        _cache[path, names] = stamp, listing
    return listing


def _list(path: str, names: frozenset[str]) -> Listing:
    folders, protected, marks = [], [], []
    parent = os.path.basename(path)
    with os.scandir(path) as entries:
        for entry in entries:
            name = entry.name
            if is_protected(name, names) or is_protected(f"{parent}/{name}", names):
                protected.append(name)
                if name == ".git" and entry.is_dir(follow_symlinks=False):
                    folders += [f".git/{part}" for part in PARTS_OF_GIT]
            elif entry.is_dir(follow_symlinks=False) and name not in _SKIPPED:
                folders.append(name)
            if len(name) <= len("commondir"):
                marks.append(name)
    return Listing(tuple(folders), tuple(protected), is_git_directory(marks))
