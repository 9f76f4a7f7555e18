"""Empty files and folders that occupy a protected name, so that a command cannot create it.

They exist as long as a job needs them. Each job holds a shared lock on them, across processes; the last one removes
them. A special mode marks them, so that the next job takes over those of a supervisor that was killed.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import suppress
from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, flock
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

_FOLDER_MODE, _FILE_MODE = stat.S_ISVTX | 0o500, stat.S_ISVTX | 0o400
_TRIES, _PAUSE = 50, 0.002  # seconds, while another job removes it


class Placeholder(NamedTuple):
    """A name in an open folder, and a locked descriptor of the file or folder."""

    folder: int
    name: str
    descriptor: int


def is_placeholder(found: os.stat_result) -> bool:
    """Return whether a file or folder is a placeholder of any job."""
    mark = _FOLDER_MODE if stat.S_ISDIR(found.st_mode) else _FILE_MODE
    return stat.S_IMODE(found.st_mode) & 0o7700 == mark and found.st_uid == os.geteuid()


def occupy(folder: int, name: str, content: bytes | None) -> Placeholder:
    """Create a placeholder or share an existing one; OSError if something else has the name.

    It is a folder if `content` is None.
    """
    is_made = is_other = False
    for _ in range(_TRIES):
        with suppress(FileExistsError):
            _create(folder, name, content)
            is_made = True
        with suppress(FileNotFoundError):  # another job has just removed it
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
            if _is_locked(folder, name, descriptor):
                return Placeholder(folder, name, descriptor)
            is_other = not is_placeholder(os.fstat(descriptor))
            os.close(descriptor)
        if is_other:
            break
        time.sleep(_PAUSE)
    if is_made:  # the file system does not support these modes or locks
        with suppress(OSError):
            (os.rmdir if content is None else os.unlink)(name, dir_fd=folder)
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)


def remove_placeholders(placeholders: Iterable[Placeholder]) -> None:
    """Remove placeholders that no other job needs and no program has written to, and close all."""
    for folder, name, descriptor in placeholders:
        with suppress(OSError):  # another job holds it, or another program uses it
            flock(descriptor, LOCK_EX | LOCK_NB)
            if _is_there(folder, name, descriptor):
                (os.rmdir if stat.S_ISDIR(os.fstat(descriptor).st_mode) else os.unlink)(name, dir_fd=folder)
        os.close(descriptor)


def _create(folder: int, name: str, content: bytes | None) -> None:
    if content is None:
        os.mkdir(name, _FOLDER_MODE, dir_fd=folder)
        return
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, _FILE_MODE, dir_fd=folder)
    try:
        os.write(descriptor, content)
    finally:
        os.close(descriptor)


def _is_locked(folder: int, name: str, descriptor: int) -> bool:
    """Take the exclusive lock; False if another job holds it, or the placeholder no longer has this name."""
    if not is_placeholder(os.fstat(descriptor)):
        return False
    try:
        flock(descriptor, LOCK_SH | LOCK_NB)
    except OSError:  # another job is removing it
        return False
    return _is_there(folder, name, descriptor)


def _is_there(folder: int, name: str, descriptor: int) -> bool:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return is_placeholder(found) and os.path.samestat(found, os.fstat(descriptor))
