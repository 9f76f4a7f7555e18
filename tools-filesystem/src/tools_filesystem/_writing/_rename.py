"""Rename entries without ever replacing one that was not checked."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

from tools_filesystem._paths._libc import call_libc

_NOREPLACE, _EXCHANGE = 1, 2
# Inode, size and time of change of a file: enough to recognise it under another name.
Identity = tuple[int, int, int]
# The kernel, a filter of a container or the file system does not know the call.
_UNKNOWN = (errno.ENOSYS, errno.EINVAL, errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP)


def identity(found: os.stat_result) -> Identity:
    """Return what a file is recognised by."""
    return found.st_ino, found.st_size, found.st_mtime_ns


def rename_new(folder: int, name: str, to_folder: int, to_name: str) -> None:
    """Rename; FileExistsError when the new name is taken, by whatever."""
    if not _by_kernel(folder, name, to_folder, to_name, _NOREPLACE):
        _by_two_steps(folder, name, to_folder, to_name)


def exchange(folder: int, name: str, other: str) -> bool:
    """Exchange two names of a folder in one step; False where the system cannot, and nothing was done."""
    return _by_kernel(folder, name, folder, other, _EXCHANGE)


def _by_kernel(folder: int, name: str, to_folder: int, to_name: str, flag: int) -> bool:
    """Return whether `renameat2` did it; OSError if it could have and did not."""
    try:
        call_libc("renameat2", folder, os.fsencode(name), to_folder, os.fsencode(to_name), flag)
    except OSError as error:
        if error.errno not in _UNKNOWN:
            raise
        return False
    return True


def _by_two_steps(folder: int, name: str, to_folder: int, to_name: str) -> None:
    """Claim the new name first, with what the rename may replace: a second link, or an empty folder."""
    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISDIR(found.st_mode):
        os.mkdir(to_name, dir_fd=to_folder)
        try:
            os.rename(name, to_name, src_dir_fd=folder, dst_dir_fd=to_folder)
        except BaseException:
            with suppress(OSError):
                os.rmdir(to_name, dir_fd=to_folder)
            raise
        return
    os.link(name, to_name, src_dir_fd=folder, dst_dir_fd=to_folder, follow_symlinks=False)
    os.unlink(name, dir_fd=folder)
