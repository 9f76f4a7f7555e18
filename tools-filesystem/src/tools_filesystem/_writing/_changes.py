"""Atomic changes: each file has its old or its new content, and of several files all change or none.

New contents are staged beside the files first; then the files are only renamed. An error takes back all that was done,
which is remembered by the running call alone, never in the workspace. When the process is killed in the middle, each
file is the old or the new one, and staged files may remain until the next write in their folder.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn
from zlib import crc32

from tools_core import ToolError
from tools_filesystem._ledger import Stamp
from tools_filesystem._paths._explain import explained
from tools_filesystem._paths._locate import lock
from tools_filesystem._paths._protected import OWN
from tools_filesystem._paths._resolve import open_file
from tools_filesystem._writing._attributes import keep_attributes
from tools_filesystem._writing._rename import exchange, identity, rename_new

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_core import Context
    from tools_filesystem._paths._locate import Located

_NO_TMPFILE = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT)


@dataclass(slots=True, kw_only=True)
class Change:
    """A file to write, or to delete if `data` is None.

    `found` and `content` are the expected state; `is_forced` replaces any state. A file that is
    replaced keeps its attributes, and a new one gets those of `model`. `state` is the file's state afterwards.
    """

    place: Located
    data: bytes | None
    found: os.stat_result | None
    content: bytes | None = None
    is_forced: bool = False
    model: Located | None = None
    executable: bool | None = None
    state: os.stat_result | None = field(default=None, init=False)
    _aside: str = field(default="", init=False)  # the name of the new content, and afterwards of the old
    _backup: str = field(default="", init=False)  # of the old content, where names cannot be exchanged

    def stage(self, aside: str) -> None:
        """Check that the file is as expected, and write the new content beside it."""
        self._check()
        # Where the clock of the file system is coarse, a change just now does not show in the stamp.
        if self.content is not None:
            with open(open_file(self.place.folder, self.place.name), "rb") as file:
                if file.read() != self.content:
                    self._refuse()
        with suppress(FileNotFoundError):  # the remains of a crash: this call holds the lock
            os.unlink(aside, dir_fd=self.place.folder)
        self._aside = aside
        if self.data is not None:
            self.state = self._written(aside, self.data)

    def apply(self) -> None:
        """Rename the new content into place; if that replaced another program's file, restore it and raise."""
        folder, name, aside = self.place.folder, self.place.name, self._aside
        self._check()
        try:
            if self.data is None:
                os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
                if not self._is_old(aside):
                    rename_new(folder, aside, folder, name)
                    self._refuse()
            elif self.found is None:
                rename_new(folder, aside, folder, name)
            elif self.is_forced:
                os.rename(aside, name, src_dir_fd=folder, dst_dir_fd=folder)
            elif not exchange(folder, aside, name):
                if self.content is not None:
                    self._backup = f"{aside}.old"
                    self._written(self._backup, self.content)
                if not self._is_old(name):
                    self._refuse()
                os.rename(aside, name, src_dir_fd=folder, dst_dir_fd=folder)
            elif not self._is_old(aside):
                exchange(folder, aside, name)
                self._refuse()
        except (FileNotFoundError, FileExistsError):
            self._refuse()

    def take_back(self) -> str:
        """Restore the old content unless another program has written there; return the failure, if any."""
        folder, name = self.place.folder, self.place.name
        try:
            is_ours = self._is_new()
            if self.data is None and self.place.found is None:
                with suppress(FileNotFoundError):  # another program has deleted it
                    rename_new(folder, self._aside, folder, name)
            elif is_ours and self.found is None:
                os.unlink(name, dir_fd=folder)
            elif is_ours and self._backup:
                os.rename(self._backup, name, src_dir_fd=folder, dst_dir_fd=folder)
            elif is_ours:
                exchange(folder, self._aside, name)
        except OSError as problem:
            kept = f"{self._aside}.kept"  # not a name that later calls remove
            with suppress(OSError):
                os.rename(self._backup or self._aside, kept, src_dir_fd=folder, dst_dir_fd=folder)
            return f"{self.place.given!r} ({problem.strerror}; its old content is in {kept!r})"
        return ""

    def tidy(self) -> None:
        """Remove the staged file unless another program has replaced it."""
        ours = [found for found in (self.state, self.found) if found is not None]
        for name in filter(None, (self._aside, self._backup)):
            with suppress(OSError):  # the next write removes it
                found = os.stat(name, dir_fd=self.place.folder, follow_symlinks=False)
                if name == self._backup or any(os.path.samestat(found, known) for known in ours):
                    os.unlink(name, dir_fd=self.place.folder)

    def settle(self) -> None:
        """Refresh `state`, unless another program has replaced the file."""
        with suppress(OSError):  # the change is made: an error would deny it
            if self._is_new():
                self.state = self.place.found

    def _check(self) -> None:
        """Raise ToolError (`conflict`) if the file has changed."""
        self.place.look()
        now = self.place.found
        if not self.is_forced and (now and Stamp.of(now)) != (self.found and Stamp.of(self.found)):
            self._refuse()

    def _refuse(self) -> NoReturn:
        self.place.look()
        verb = "was created" if self.found is None else "was deleted" if self.place.found is None else "was changed"
        message = f"{self.place.given!r} {verb} during this call; nothing was written"
        raise ToolError(f"{message}: read it again, then retry", "conflict")

    def _is_old(self, name: str) -> bool:
        found = os.stat(name, dir_fd=self.place.folder, follow_symlinks=False)
        return self.found is not None and identity(found) == identity(self.found)

    def _is_new(self) -> bool:
        self.place.look()
        found = self.place.found
        return found is not None and self.state is not None and identity(found) == identity(self.state)

    def _written(self, name: str, data: bytes) -> os.stat_result:
        """Write the new content beside the file, with its attributes and synced, and return its state."""
        folder, model = self.place.folder, self.place if self.found is not None else self.model
        descriptor, is_named = _open_aside(folder, name, 0o666 if model is None else 0o600)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]
            if model is not None:
                keep_attributes(f"/proc/self/fd/{model.folder}/{model.name}", model.state, descriptor)
            if self.executable is not None:
                mode = os.fstat(descriptor).st_mode & 0o777
                os.fchmod(descriptor, mode | (mode & 0o444) >> 2 if self.executable else mode & ~0o111)
            os.fsync(descriptor)
            state = os.fstat(descriptor)
            if not is_named:  # named as late as possible: a crash before this leaves nothing behind
                os.link(f"/proc/self/fd/{descriptor}", name, dst_dir_fd=folder, follow_symlinks=True)
        except BaseException:
            if is_named:
                with suppress(OSError):
                    os.unlink(name, dir_fd=folder)
            raise
        finally:
            os.close(descriptor)
        return state


def commit(changes: Sequence[Change], context: Context) -> None:
    """Make all changes, missing folders included; an error rolls all of them back."""
    for change in changes:
        with explained(change.place.given):
            change.place.make_folders(context)
    lock(context, *(change.place for change in changes))
    try:
        for number, change in enumerate(changes):
            with explained(change.place.given):
                change.stage(own_name(f".{number}.tmp"))
        _apply_all(changes)
        for folder in {change.place.folder for change in changes}:
            with suppress(OSError):  # the changes are made: an error would deny them
                os.fsync(folder)
        for change in changes:
            change.settle()
    finally:
        for change in changes:
            change.tidy()


def _apply_all(changes: Sequence[Change]) -> None:
    begun = 0
    try:
        for begun, change in enumerate(changes, 1):
            with explained(change.place.given):
                if begun > 1:  # a change before may have made the folder a git repository
                    change.place.check_repository()
                change.apply()
    except BaseException as error:
        problems = [problem for change in reversed(changes[:begun]) if (problem := change.take_back())]
        if problems:
            message = f"{error}. Some files could not be restored: {'; '.join(problems)}"
            raise ToolError(message, "execution_error") from error
        raise


def own_name(ending: str) -> str:
    """Return the name of the staged file in a locked folder.

    It is the same for all calls of one user on one machine, so that what has it was left by a crash.
    """
    return f"{OWN}{crc32(f'{os.uname().nodename} {os.geteuid()}'.encode()):08x}{ending}"


def _open_aside(folder: int, name: str, mode: int) -> tuple[int, bool]:
    """Open a new file in a folder, unnamed if the system supports that, so that a crash leaves nothing behind."""
    if hasattr(os, "O_TMPFILE") and os.path.exists("/proc/self/fd"):  # needed to name it
        try:
            return os.open(".", os.O_RDWR | os.O_TMPFILE, mode, dir_fd=folder), False
        except OSError as error:
            if error.errno not in _NO_TMPFILE:
                raise
    return os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=folder), True
