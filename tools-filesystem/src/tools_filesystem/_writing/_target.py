"""Where a write goes: a folder that is held open, and a bare name in it."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from tools_core import ToolError
from tools_filesystem._paths._access import Place
from tools_filesystem._paths._protected import check_writable
from tools_filesystem._paths._resolve import open_folder
from tools_filesystem._writing._lock import hold, release

if TYPE_CHECKING:
    from tools_core import Context
    from tools_filesystem._paths._access import PinnedRoot

_MOST_LINKS = 40
MOST_NEW = 50  # folders that one call creates above a file


class Target:
    """The folder and the name that a place means for writing: links followed, missing folders made if `make`.

    `found` is what is there now. ToolError `denied` for a protected place. Leaving the block by an exception takes back
    the folders that were made.
    """

    __slots__ = ("_made", "_make", "_root", "folder", "found", "name")

    folder: int
    found: os.stat_result | None
    name: str

    def __init__(self, place: Place, *, make: bool = True) -> None:
        self._root: PinnedRoot = place.root
        self._make = make
        self._made: list[str] = []
        self.folder = -1
        try:
            self._find(place.path)
        except BaseException:
            self._leave(unmake=True)
            raise

    def lock(self, context: Context | None = None) -> None:
        """Keep other writers out of the folder until the block is left; `found` is looked up again."""
        hold(self.folder, context)
        self.found = _look(self.folder, self.name)
        if self.found is not None and stat.S_ISLNK(self.found.st_mode):
            raise OSError(errno.ELOOP, "became a link meanwhile", self.name)

    def _find(self, path: str) -> None:
        for _ in range(_MOST_LINKS):
            where, _, self.name = path.rpartition("/")
            if self.name in ("", ".", ".."):
                raise no_file_name(path)
            self.folder = self._open_or_make(where or ".")
            check_writable(self._root, self.folder, self.name)
            self.found = _look(self.folder, self.name)
            if self.found is None or not stat.S_ISLNK(self.found.st_mode):
                return
            link = os.readlink(self.name, dir_fd=self.folder)
            self._leave()
            path = self._root.relative(link) if link.startswith("/") else f"{where or '.'}/{link}"
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)

    def _open_or_make(self, path: str) -> int:
        try:
            return open_folder(Place(self._root, path))
        except FileNotFoundError:
            if not self._make or ".." in path.split("/"):  # what `..` follows would be made only to be left again
                raise
        parts = path.split("/")
        folder = open_folder(Place(self._root, "."))
        for end, name in enumerate(parts, 1):
            if name in ("", "."):
                continue
            try:
                inner = self._enter(folder, parts, end)
            finally:
                os.close(folder)
            folder = inner
        return folder

    def _enter(self, folder: int, parts: list[str], end: int) -> int:
        name, path = parts[end - 1], "/".join(parts[:end])
        try:
            return open_folder(Place(self._root, path))
        except FileNotFoundError:
            if len(self._made) == MOST_NEW:
                raise too_many_folders() from None
            following = [part for part in parts[end - 1 :] if part not in ("", ".")]
            check_writable(self._root, folder, "/".join([*following, self.name]))
            with suppress(FileExistsError):  # by another call, or a link to nowhere: opening tells
                os.mkdir(name, dir_fd=folder)
                self._made.append(path)
            with suppress(OSError):  # what is written into it would be lost with it in a crash
                os.fsync(folder)
            return open_folder(Place(self._root, path))

    def _leave(self, *, unmake: bool = False) -> None:
        if self.folder >= 0:
            release(self.folder)
            os.close(self.folder)
            self.folder = -1
        for path in reversed(self._made if unmake else ()):
            where, _, name = path.rpartition("/")
            with suppress(OSError):  # another process uses it already
                folder = open_folder(Place(self._root, where or "."))
                try:
                    os.rmdir(name, dir_fd=folder)
                finally:
                    os.close(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._leave(unmake=kind is not None)


def too_many_folders() -> ToolError:
    """Return the error for a path of too many missing folders."""
    return ToolError(f"the path needs more than {MOST_NEW} new folders; create them step by step", "limit_exceeded")


def no_file_name(path: str) -> ToolError:
    """Return the error for a path that can only be a folder."""
    message = f"{path!r} can only be a folder, because it ends with a slash, '.' or '..'"
    return ToolError(f"{message}; end it with the name of the file", "not_a_file")


def _look(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
