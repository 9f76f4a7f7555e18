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
    """Appends each line by one write, so that lines of several writers never mix, without a lock.

    The file stays open, and is opened again when another one has taken its place. A file of `max_bytes` becomes
    `path.1`, that one `path.2`, and so on up to `backups`.
    """

    def __init__(self, path: str | PathLike[str], max_bytes: int, backups: int) -> None:
        if max_bytes < 1 or backups < 1:
            raise ValueError("max_bytes and backups must be at least 1")
        self.path = Path(path).absolute()  # the current folder may change later
        self._max_bytes = max_bytes
        self._backups = backups
        self._file: tuple[_Descriptor, os.stat_result] | None = None  # with its stat when it was opened
        self._is_torn = False

    def write(self, line: bytes) -> None:
        """Append a line; OSError if that fails."""
        file, size = self._opened()
        data = b"\n" + line if self._is_torn else line
        self._is_torn = os.write(file.number, data) < len(data)
        if self._is_torn:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
        if size + len(data) >= self._max_bytes:
            self._rotate()

    def _opened(self) -> tuple[_Descriptor, int]:
        """Return the file and its size, opened if `path` is not the one that is open."""
        if self._file is not None:
            with suppress(FileNotFoundError):
                status = os.lstat(self.path)
                if os.path.samestat(status, self._file[1]):
                    return self._file[0], status.st_size
        file = _Descriptor(os.open(self.path, _FLAGS, 0o600))
        status = os.fstat(file.number)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "is not a regular file", str(self.path))
        if status.st_uid != os.geteuid():
            raise PermissionError(errno.EPERM, "belongs to another user", str(self.path))
        if status.st_mode & 0o077:
            os.fchmod(file.number, 0o600)
        self._file = file, status
        return file, status.st_size

    def _rotate(self) -> None:
        """Rename the files, unless another writer does it or has done it."""
        file = _Descriptor(os.open(self.path, _FLAGS, 0o600))  # a lock of the open file is shared with forks
        try:
            fcntl.flock(file.number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            status = os.fstat(file.number)
            if status.st_size < self._max_bytes or not os.path.samestat(status, self.path.lstat()):
                return
            for number in range(self._backups, 1, -1):
                with suppress(FileNotFoundError):
                    self._backup(number - 1).replace(self._backup(number))
            self.path.replace(self._backup(1))  # last: from now on another process may make and rotate a new file
        except (BlockingIOError, FileNotFoundError):
            return

    def _backup(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")


class _Descriptor:
    """A file descriptor that is closed when the last thread that uses it has dropped it."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        os.close(self.number)
