"""One step of a path: a bare name in a folder that is held open, pinned and not yet opened for data."""

from __future__ import annotations

import errno
import os
import stat

from tools_core import ToolError
from tools_filesystem._paths._kernel import is_made_up

HAS_O_PATH = hasattr(os, "O_PATH")


class SpecialFileError(OSError):
    """A pipe, a socket or a device, which is never opened for data."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.EINVAL, "is not a regular file", path)


def again(folder: int) -> int:
    """Return a second descriptor of a folder."""
    return os.open(".", (os.O_PATH if HAS_O_PATH else os.O_RDONLY) | os.O_DIRECTORY, dir_fd=folder)


def step(folder: int, name: str, *, is_last: bool) -> int | str:
    """Pin `name`, or return the target if it is a link; what is not last must be a folder."""
    return (_by_pin if HAS_O_PATH else _by_stat)(folder, name, is_last)


def open_in(folder: int, name: str) -> int:
    """Open a regular file of a folder for reading; OSError for anything else, also for a new link."""
    pinned = step(folder, name, is_last=True)
    if isinstance(pinned, str):
        raise OSError(errno.ELOOP, "became a link meanwhile", name)
    try:
        check_regular(os.fstat(pinned).st_mode, name)
        return reopen(pinned)
    finally:
        os.close(pinned)


def check_regular(mode: int, path: str) -> None:
    """Raise OSError for what has no content to read or replace."""
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(mode):
        raise SpecialFileError(path)


def reopen(pinned: int) -> int:
    """Open a regular file that was pinned for reading; SpecialFileError if the kernel makes it up."""
    if is_made_up(os.fstat(pinned)):
        raise SpecialFileError("")
    if not HAS_O_PATH:
        return os.dup(pinned)
    try:
        return os.open(f"/proc/self/fd/{pinned}", os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError as error:
        raise ToolError("files cannot be read safely here: /proc is not mounted", "unavailable") from error


def _by_pin(folder: int, name: str, is_last: bool) -> int | str:
    found = os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=folder)
    target = None
    try:
        mode = os.fstat(found).st_mode
        if stat.S_ISLNK(mode):
            target = os.readlink("", dir_fd=found)
        elif not is_last:
            _check_folder(mode, name)
    except BaseException:
        os.close(found)
        raise
    if target is None:
        return found
    os.close(found)
    return target


def _by_stat(folder: int, name: str, is_last: bool) -> int | str:
    """The same without O_PATH (macOS): a device that is swapped in just now may be opened, unread."""
    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    if stat.S_ISLNK(mode):
        return os.readlink(name, dir_fd=folder)
    if not is_last:
        _check_folder(mode, name)
    if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
        raise SpecialFileError(name)
    kind = os.O_DIRECTORY if stat.S_ISDIR(mode) else 0
    return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | kind, dir_fd=folder)


def _check_folder(mode: int, name: str) -> None:
    if not stat.S_ISDIR(mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), name)
