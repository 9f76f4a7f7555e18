"""A name in a folder that is held open, and itself never followed: what is moved, copied and deleted."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_filesystem._paths._protected import check_writable
from tools_filesystem._writing._lock import hold
from tools_filesystem._writing._target import Target

if TYPE_CHECKING:
    from tools_core import Context
    from tools_filesystem._paths._access import Access


class Entry(Target):
    """What is changed: `found` is the state of the name itself, also where it is a link."""

    __slots__ = ()

    def _find(self, path: str) -> None:
        where, _, name = path.rstrip("/").rpartition("/")
        if name in ("", ".", ".."):
            message = "the path must end with the name of an entry: not the root itself, and neither '.' nor '..'"
            raise ToolError(message, "denied")
        self.name = name
        self.folder = self._open_or_make(where or ".")
        self._check()
        self.look()
        if path.endswith("/") and self.found is not None and not self.is_folder:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)

    def look(self) -> None:
        """Bring `found` up to date."""
        try:
            self.found = os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            self.found = None

    @property
    def is_folder(self) -> bool:
        """Return whether this is a folder, and not a link to one."""
        return self.found is not None and stat.S_ISDIR(self.found.st_mode)

    def state(self) -> os.stat_result:
        """What is there; FileNotFoundError if there is nothing."""
        if self.found is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.name)
        return self.found

    def _check(self) -> None:
        check_writable(self._root, self.folder, self.name)


class Source(Entry):
    """What is only read, so that it may lie in a protected place."""

    __slots__ = ()

    def _check(self) -> None:
        pass


def lock(context: Context, *entries: Entry) -> None:
    """Keep other writers out of the folders of all entries, in one order for all, and look again."""
    # One descriptor for each folder: a second one would wait for the first.
    folders = {_key(entry.folder): entry.folder for entry in entries}
    for _, folder in sorted(folders.items()):
        hold(folder, context)
    for entry in entries:
        entry.look()


def roots_of(access: Access) -> set[tuple[int, int]]:
    """Return the identities of all roots, which are not moved or deleted."""
    found: set[tuple[int, int]] = set()
    for root in access.workspace.roots:
        try:
            state = os.stat(root.path)
        except OSError:
            continue  # what is not there is safe
        found.add((state.st_dev, state.st_ino))
    return found


def _key(folder: int) -> tuple[int, int]:
    found = os.fstat(folder)
    return found.st_dev, found.st_ino
