"""A file of lines that threads and processes share, and that is rotated by size."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from os import PathLike

# No symbolic link is followed: in a shared folder another user may have put one there.
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class LogFile:
    """Appends each line by one write to a file that is opened for it.

    So lines of several writers never mix, a rotated file is never written for long, and no lock is held that a forked
    process could inherit. A file of `max_bytes` becomes `path.1`, that one `path.2`, and so on up to `backups`.
    """

    def __init__(self, path: str | PathLike[str], max_bytes: int, backups: int) -> None:
        if max_bytes < 1 or backups < 1:
            raise ValueError("max_bytes and backups must be at least 1")
        self.path = Path(path).absolute()  # the current folder may change later
        self._max_bytes = max_bytes
        self._backups = backups
        self._is_torn = False

    def write(self, line: bytes) -> None:
        """Append a line; OSError where that fails."""
        descriptor = os.open(self.path, _FLAGS, 0o600)
        try:
            size = _check_private(descriptor, str(self.path))
            data = b"\n" + line if self._is_torn else line
            self._is_torn = os.write(descriptor, data) < len(data)
            if self._is_torn:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
            if size + len(data) >= self._max_bytes:
                self._rotate(descriptor)
        finally:
            os.close(descriptor)

    def _rotate(self, descriptor: int) -> None:
        """Rename the files, unless another writer does it or has done it."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return
        try:
            if not os.path.samestat(os.fstat(descriptor), self.path.lstat()):
                return
            for number in range(self._backups, 1, -1):
                with suppress(FileNotFoundError):
                    self._backup(number - 1).replace(self._backup(number))
            self.path.replace(self._backup(1))  # last: from now on another process may make and rotate a new file
        except FileNotFoundError:
            return
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # a process forked meanwhile holds the descriptor, too

    def _backup(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")


def _check_private(descriptor: int, path: str) -> int:
    """Return the size of the file; OSError unless it is a regular file that the user alone can read."""
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "is not a regular file", path)
    if found.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "belongs to another user", path)
    if found.st_mode & 0o077:
        os.fchmod(descriptor, 0o600)
    return found.st_size
