"""What a file keeps when its content is replaced: owner, mode, extended attributes, access lists."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

_ACCESS_LIST = "system.posix_acl_access"
# What is bound to the very content, or gives it power.
_NOT_KEPT = ("security.capability", "security.evm", "security.ima")
# The system does not let this user copy it, or has no such thing.
_PASSED_OVER = (errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENODATA)


def keep_attributes(folder: int, name: str, replaced: os.stat_result, new: int) -> None:
    """Give the file behind `new` what `name` has, as far as the system permits, and never a set-id bit."""
    mode = stat.S_IMODE(replaced.st_mode) & 0o777
    if not _keep_owner(replaced, new):
        mode &= ~0o070 | (mode & 0o007) << 3  # another group than before gets no more than anybody
    if hasattr(os, "listxattr"):  # Linux alone
        with suppress(FileNotFoundError):  # it was deleted meanwhile
            _keep_extended(folder, name, new)
    os.fchmod(new, mode)


def _keep_owner(replaced: os.stat_result, new: int) -> bool:
    """Whether the group is the same as before; only root may give a file away."""
    own = os.fstat(new)
    if own.st_uid != replaced.st_uid:
        with suppress(PermissionError):
            os.fchown(new, replaced.st_uid, -1)
    if own.st_gid != replaced.st_gid:
        with suppress(PermissionError):
            os.fchown(new, -1, replaced.st_gid)
    return os.fstat(new).st_gid == replaced.st_gid


def _keep_extended(folder: int, name: str, new: int) -> None:
    pinned = os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=folder)  # works for what must not be read
    try:
        old = f"/proc/self/fd/{pinned}"
        names = _extended_names(old)
        for attribute in names:
            if attribute not in _NOT_KEPT:
                _copy(old, new, attribute)
        if _ACCESS_LIST not in names and _ACCESS_LIST in _extended_names(new):
            os.removexattr(new, _ACCESS_LIST)  # the folder gave it one
    finally:
        os.close(pinned)


def _extended_names(file: str | int) -> list[str]:
    try:
        return os.listxattr(file)
    except OSError as error:
        if error.errno not in _PASSED_OVER:
            raise
        return []


def _copy(old: str, new: int, attribute: str) -> None:
    try:
        os.setxattr(new, attribute, os.getxattr(old, attribute))
    except OSError as error:
        if error.errno not in _PASSED_OVER:
            raise
