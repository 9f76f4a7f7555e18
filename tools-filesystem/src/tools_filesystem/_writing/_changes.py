"""Atomic changes: each file has its old or its new content, and of several files all change or none.

New contents are staged beside the files first; then the files are only renamed. An error reverts all changes, from
memory. If the process is killed in the middle, each file is the old or the new one, and staged files may remain until
the next write in their folder.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn
from zlib import crc32

from tools_core import ToolError
from tools_filesystem._paths._explain import explained, explanation
from tools_filesystem._paths._located import lock
from tools_filesystem._paths._protected import OWN
from tools_filesystem._paths._resolve import open_file
from tools_filesystem._writing._attributes import keep_attributes
from tools_filesystem._writing._rename import rename_new

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_core import Context
    from tools_filesystem._paths._located import Located

_NO_TMPFILE = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT)


@dataclass(slots=True, kw_only=True)
class Change:
    """A file to write, or to delete if `data` is None; it may be in parts, which are not joined.

    `status` and `content` are the expected state; `is_forced` replaces any state. A replaced file keeps its
    attributes, and a new one gets those of `model`, but for `is_executable`. `state` is the file's state afterwards.
    """

    place: Located
    data: bytes | Sequence[bytes | memoryview] | None
    status: os.stat_result | None
    content: bytes | None = None
    is_forced: bool = False
    model: Located | None = None
    is_executable: bool | None = None
    state: os.stat_result | None = field(default=None, init=False)
    _aside: str = field(default="", init=False)  # the name of the new content, or of the deleted file

    def stage(self, aside: str) -> None:
        """Check that the file is as expected, and write the new content beside it."""
        self._check()
        # If the clock of the file system is coarse, a recent change does not show in the stamp.
        if self.content is not None:
            with open(open_file(self.place.folder, self.place.name), "rb") as file:
                if file.read() != self.content:
                    self._refuse()
        with suppress(FileNotFoundError):  # the remains of a crash: this call holds the lock
            os.unlink(aside, dir_fd=self.place.folder)
        self._aside = aside
        if self.data is not None:
            self.state = self._write(aside, self.data, is_executable=self.is_executable)

    def apply(self) -> None:
        """Rename the new content into place."""
        folder, name = self.place.folder, self.place.name
        self._check()
        try:
            if self.data is None:
                os.rename(name, self._aside, src_dir_fd=folder, dst_dir_fd=folder)
            elif self.status is None and not self.is_forced:
                rename_new(folder, self._aside, folder, name)
            else:
                os.replace(self._aside, name, src_dir_fd=folder, dst_dir_fd=folder)
        except (FileNotFoundError, FileExistsError):
            self._refuse()

    def revert(self) -> str:
        """Restore the old content after `apply`; return a description if that fails."""
        folder, name = self.place.folder, self.place.name
        try:
            self.place.look()
            if self.data is None:
                if self.place.status is None:
                    rename_new(folder, self._aside, folder, name)
            elif self._is_applied() and self.status is None:
                os.unlink(name, dir_fd=folder)
            elif self._is_applied() and self.content is not None:
                was_executable = self.status is not None and bool(self.status.st_mode & 0o111)
                self._write(self._aside, self.content, is_executable=self.is_executable and was_executable)
                os.replace(self._aside, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError as problem:
            return f"{self.place.argument!r} ({problem.strerror})"
        return ""

    def finish(self, *, applied: bool) -> None:
        """Remove the staged or deleted file, and refresh `state`."""
        with suppress(OSError):  # the next write removes it
            os.unlink(self._aside, dir_fd=self.place.folder)
        if applied:
            with suppress(OSError):  # an error would deny the change
                self.place.look()
                self.state = self.place.status if self._is_applied() else self.state

    def _check(self) -> None:
        """Raise ToolError (`conflict`) if the file has changed."""
        self.place.look()
        now = self.place.status
        if not self.is_forced and _stamp(now) != _stamp(self.status):
            self._refuse()

    def _refuse(self) -> NoReturn:
        self.place.look()
        verb = "was created" if self.status is None else "was deleted" if self.place.status is None else "was changed"
        message = f"{self.place.argument!r} {verb} during this call; nothing was written"
        raise ToolError(f"{message}: read it again, then retry", "conflict")

    def _is_applied(self) -> bool:
        now = self.place.status
        return now is not None and self.state is not None and os.path.samestat(now, self.state)

    def _write(
        self, name: str, data: bytes | Sequence[bytes | memoryview], *, is_executable: bool | None
    ) -> os.stat_result:
        """Write content beside the file, with its attributes and synced, and return its state."""
        folder, model = self.place.folder, self.place if self.place.status is not None else self.model
        descriptor, is_named = _open_aside(folder, name, 0o666 if model is None else 0o600)
        try:
            for part in [data] if isinstance(data, bytes) else data:
                left = memoryview(part)
                while left:
                    left = left[os.write(descriptor, left) :]
            if model is not None:
                keep_attributes(f"/proc/self/fd/{model.folder}/{model.name}", model.state, descriptor)
            if is_executable is not None:
                mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
                os.fchmod(descriptor, mode | (mode & 0o444) >> 2 if is_executable else mode & ~0o111)
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


def commit(changes: Sequence[Change], context: Context, *, is_locked: bool = False) -> None:
    """Apply all changes, and create missing folders; an error reverts all of them.

    `is_locked` states that the caller holds the locks, and that no folder is missing.
    """
    if not is_locked:
        for change in changes:
            with explained(change.place.argument):
                change.place.make_folders(context)
        lock(context, *(change.place for change in changes))
    applied, path = False, ""
    try:
        for number, change in enumerate(changes):
            path = change.place.argument
            change.stage(own_name(f".{number}.tmp"))
        _apply_all(changes)
        applied = True
        for folder in {change.place.folder for change in changes}:
            with suppress(OSError):  # an error would deny the changes
                os.fsync(folder)
    except OSError as error:
        raise explanation(error, path) from error
    finally:
        for change in changes:
            change.finish(applied=applied)


def _apply_all(changes: Sequence[Change]) -> None:
    count = 0
    try:
        for count, change in enumerate(changes, 1):
            if count > 1:  # a change before may have made the folder a git repository
                change.place.check_repository()
            change.apply()
    except BaseException as error:
        problems = [problem for change in reversed(changes[:count]) if (problem := change.revert())]
        reason = explanation(error, changes[count - 1].place.argument) if isinstance(error, OSError) else error
        if problems:
            message = f"{reason}. Some files could not be restored: {'; '.join(problems)}"
            raise ToolError(message, "execution_error") from error
        if reason is not error:
            raise reason from error
        raise


def other_names(state: os.stat_result) -> str:
    """Return a note on the other names of a file that was replaced, if it has some."""
    more = state.st_nlink - 1
    return f"its other hard links keep the old content: {more}" if more > 0 else ""


def own_name(ending: str) -> str:
    """Return the name of the staged file in a locked folder.

    It is the same for all calls of one user on one machine, so that a file with this name is left from a crash.
    """
    return f"{OWN}{crc32(f'{os.uname().nodename} {os.geteuid()}'.encode()):08x}{ending}"


def _stamp(state: os.stat_result | None) -> tuple[int, ...] | None:
    if state is None:
        return None
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


def _open_aside(folder: int, name: str, mode: int) -> tuple[int, bool]:
    """Open a new file in a folder, unnamed if the system supports that, so that a crash leaves nothing behind."""
    if hasattr(os, "O_TMPFILE") and os.path.exists("/proc/self/fd"):  # needed to name it
        try:
            return os.open(".", os.O_RDWR | os.O_TMPFILE, mode, dir_fd=folder), False
        except OSError as error:
            if error.errno not in _NO_TMPFILE:
                raise
    return os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=folder), True
