"""The attributes of files that are replaced or copied: owner, mode, extended attributes, access lists."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

_ACCESS_LISTS = ("system.posix_acl_access", "system.posix_acl_default")
# What is bound to the very content, or gives it power.
_NOT_KEPT = ("security.capability", "security.evm", "security.ima")
# The system does not let this user copy it, has no such thing, or the file was deleted meanwhile.
_PASSED_OVER = (errno.ENOENT, errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENODATA)
_NO_SUCH_OWNER = (errno.EPERM, errno.EINVAL)  # the second is for a user that this container does not know


def keep_attributes(old: str | int, found: os.stat_result, new: int) -> None:
    """Give the file behind `new` what a file has, as far as the system permits, and never a set-id bit.

    `old` is its descriptor, or its path, which is not followed if it is a link; `found` is its state.
    """
    mode = _keep_owner(found, new)
    if hasattr(os, "listxattr"):  # Linux alone
        names = _extended_names(old)
        for attribute in names:
            if attribute not in _NOT_KEPT:
                with _unless(*_PASSED_OVER):
                    os.setxattr(new, attribute, os.getxattr(old, attribute, follow_symlinks=isinstance(old, int)))
        for attribute in _extended_names(new):
            if attribute in _ACCESS_LISTS and attribute not in names:
                os.removexattr(new, attribute)  # the folder gave it one
    os.fchmod(new, mode)


def copy_link_attributes(found: os.stat_result, folder: int, name: str) -> None:
    """Give the copy of a link the owner and the times of the original, which is all that a link has."""
    with _unless(*_NO_SUCH_OWNER):
        os.chown(name, found.st_uid, found.st_gid, dir_fd=folder, follow_symlinks=False)
    os.utime(name, ns=(found.st_atime_ns, found.st_mtime_ns), dir_fd=folder, follow_symlinks=False)


def _keep_owner(old: os.stat_result, new: int) -> int:
    """Keep owner and group, where only root may give a file away; the mode that the file may have then."""
    own = os.fstat(new)
    if own.st_uid != old.st_uid:
        with _unless(*_NO_SUCH_OWNER):
            os.fchown(new, old.st_uid, -1)
    if own.st_gid != old.st_gid:
        with _unless(*_NO_SUCH_OWNER):
            os.fchown(new, -1, old.st_gid)
    mode = stat.S_IMODE(old.st_mode) & 0o777
    if os.fstat(new).st_gid == old.st_gid:
        return mode
    return mode & (~0o070 | (mode & 0o007) << 3)  # another group than before gets no more than anybody


@contextmanager
def _unless(*codes: int) -> Generator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in codes:
            raise


def _extended_names(file: str | int) -> list[str]:
    names: list[str] = []
    with _unless(*_PASSED_OVER):
        names += os.listxattr(file, follow_symlinks=isinstance(file, int))
    return names
