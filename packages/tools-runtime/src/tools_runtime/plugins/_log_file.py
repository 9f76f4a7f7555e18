"""A file of lines that several threads and processes write, and that is put aside when it has grown."""

from __future__ import annotations

import errno
import os
import stat
import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from os import PathLike

_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class LogFile:
    """Each line is one write at the end of the file, so that lines of different writers never mix.

    A file above `max_bytes` becomes `path.1`, that one `path.2`, and so on up to `backups`. Who still has the old file
    open writes into what has become `path.1`: no line is lost.
    """

    def __init__(self, path: str | PathLike[str], max_bytes: int, backups: int) -> None:
        self.path = Path(path).absolute()  # the folder may be changed later
        self._max_bytes = max_bytes
        self._backups = backups
        self._descriptor: int | None = None
        self._is_torn = False  # our last line was cut off, and the next one must not go on with it
        self._lock = threading.Lock()

    def write(self, line: bytes) -> None:
        """Write a line; OSError where that fails."""
        with self._lock:
            descriptor = self._open()
            data = b"\n" + line if self._is_torn else line
            self._is_torn = os.write(descriptor, data) < len(data)
            if self._is_torn:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
            if os.fstat(descriptor).st_size >= self._max_bytes:
                self._rotate(descriptor)

    def sync(self) -> None:
        """Wait until what was written is on the disk."""
        with self._lock:
            descriptor = os.dup(self._open())
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """Close the file; the next line opens it again."""
        with self._lock:
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None

    def __del__(self) -> None:
        if getattr(self, "_descriptor", None) is not None:
            self.close()

    def _open(self) -> int:
        """The file that has the name now: another process may have put ours aside."""
        if self._descriptor is not None:
            if self._is_current(self._descriptor):
                return self._descriptor
            os.close(self._descriptor)
            self._descriptor = None
        try:
            descriptor = os.open(self.path, _FLAGS, 0o600)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise OSError(error.errno, "is a symbolic link, which is not followed", str(self.path)) from None
            raise
        try:
            _make_private(descriptor, str(self.path))
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        return descriptor

    def _is_current(self, descriptor: int) -> bool:
        try:
            named = self.path.lstat()
        except FileNotFoundError:
            return False
        own = os.fstat(descriptor)
        return (named.st_dev, named.st_ino) == (own.st_dev, own.st_ino)

    def _rotate(self, descriptor: int) -> None:
        import fcntl  # for files that have grown

        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # another writer is at it
            return
        try:
            if not self._is_current(descriptor):  # it was, just before
                return
            for number in range(self._backups, 0, -1):
                older = self.path if number == 1 else self._backup(number - 1)
                try:
                    older.replace(self._backup(number))  # the file itself comes last: only then is a new one made
                except FileNotFoundError:
                    continue
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)

    def _backup(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")


def _make_private(descriptor: int, path: str) -> None:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "is no regular file", path)
    if found.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "belongs to another user, who could read it", path)
    if found.st_mode & 0o077:
        os.fchmod(descriptor, 0o600)
