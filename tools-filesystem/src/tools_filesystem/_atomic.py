"""Writing a file so that others see the old content or the new, and a crash leaves one of the two."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress

_NO_TMPFILE = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT)


def put(folder: int, name: str, data: bytes, replaced: os.stat_result | None) -> None:
    """Make `data` the content of `name`; FileExistsError when it is there already and `replaced` is None.

    A file that is replaced keeps its mode, without set-id bits, and its owner where the system permits.
    """
    descriptor, temporary = _open_aside(folder)
    try:
        _fill(descriptor, data, replaced)
        if replaced is None:
            _link(descriptor, temporary, folder, name)  # unlike a rename, it never replaces anything
        else:
            if temporary is None:  # it gets a name only now, so that there is next to no time to leave litter
                temporary = _temporary_name()
                _link(descriptor, None, folder, temporary)
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            temporary = None
        with suppress(OSError):  # the file is there for all to see: an error would say that it is not
            os.fsync(folder)
    finally:
        os.close(descriptor)
        if temporary is not None:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)


def _open_aside(folder: int) -> tuple[int, str | None]:
    """A new file in `folder`: without a name where the system can, so that a crash leaves nothing."""
    if hasattr(os, "O_TMPFILE") and os.path.exists("/proc/self/fd"):  # the way by which it gets its name
        try:
            return os.open(".", os.O_WRONLY | os.O_TMPFILE, 0o666, dir_fd=folder), None
        except OSError as error:
            if error.errno not in _NO_TMPFILE:
                raise
    name = _temporary_name()
    return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666, dir_fd=folder), name


def _temporary_name() -> str:
    return f".ask-tools-{secrets.token_hex(8)}.tmp"


def _fill(descriptor: int, data: bytes, replaced: os.stat_result | None) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]
    if replaced is not None:
        own = os.fstat(descriptor)
        if (own.st_uid, own.st_gid) != (replaced.st_uid, replaced.st_gid):
            with suppress(PermissionError):  # only root may give a file away
                os.fchown(descriptor, replaced.st_uid, replaced.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(replaced.st_mode) & 0o777)
    os.fsync(descriptor)
    if os.fstat(descriptor).st_size != len(data):
        raise OSError(errno.EIO, "not all of it was written; nothing was changed")


def _link(descriptor: int, temporary: str | None, folder: int, name: str) -> None:
    if temporary is None:
        os.link(f"/proc/self/fd/{descriptor}", name, dst_dir_fd=folder, follow_symlinks=True)
    else:
        os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
