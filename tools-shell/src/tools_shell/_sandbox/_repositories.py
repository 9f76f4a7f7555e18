"""Looks for repositories and protected names below a folder, within bounds."""

from __future__ import annotations

import os
import time
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from tools_core.protected import is_git_directory, is_protected

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_FOLDERS = 2000
_SETTLED = 50_000_000  # nanoseconds after which a change shows in the time of a folder
# Package managers and caches fill these; the user does not work in repositories there.
_SKIPPED = frozenset(("node_modules", "__pycache__", ".venv", "venv", ".tox", ".nox"))


class Listing(NamedTuple):
    """The entries of a folder that matter here."""

    folders: tuple[str, ...]
    protected: tuple[str, ...]
    is_git_directory: bool


# By path, with the identity and the time of the folder: a look at that is ten times as fast as listing it again.
_known: dict[tuple[str, frozenset[str]], tuple[tuple[int, int, int], Listing]] = {}


def walk(root: str, names: frozenset[str]) -> Iterator[tuple[str, Listing | None]]:
    """Yield the folders from `root` on with what is in them, the outer ones first; None for the last if it stops early.

    Links are not followed. Of a git directory only the submodules are looked at.
    """
    waiting, count = deque([root]), 0
    while waiting:
        path = waiting.popleft()
        count += 1
        if count > _MOST_FOLDERS:
            yield path, None
            return
        try:
            listing = _listing(path, names)
        except OSError:  # it was removed, or is closed to this user
            continue
        yield path, listing
        below = ["modules"] if listing.is_git_directory else listing.folders
        waiting.extend(f"{path}/{name}" for name in below)


def _listing(path: str, names: frozenset[str]) -> Listing:
    found = os.stat(path, follow_symlinks=False)
    stamp = found.st_dev, found.st_ino, found.st_mtime_ns
    known = _known.get((path, names))
    if known is not None and known[0] == stamp:
        return known[1]
    listing = _list(path, names)
    if time.time_ns() - found.st_mtime_ns > _SETTLED:
        if len(_known) > 10 * _MOST_FOLDERS:
            _known.clear()
        _known[path, names] = stamp, listing
    return listing


def _list(path: str, names: frozenset[str]) -> Listing:
    folders, protected, marks = [], [], []
    with os.scandir(path) as entries:
        for entry in entries:
            name = entry.name
            if is_protected(name, names):
                protected.append(name)
                if name == ".git" and entry.is_dir(follow_symlinks=False):
                    folders.append(".git/modules")
            elif entry.is_dir(follow_symlinks=False) and name not in _SKIPPED:
                folders.append(name)
            if len(name) <= len("commondir"):
                marks.append(name)
    return Listing(tuple(folders), tuple(protected), is_git_directory(marks))
