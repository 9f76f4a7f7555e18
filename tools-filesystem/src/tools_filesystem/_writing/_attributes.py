"""Attributes of replaced files: owner, mode, extended attributes, ACLs."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_ACCESS_LISTS = ("system.posix_acl_access", "system.posix_acl_default")
# Attributes that belong to the content, or that grant privileges.
_NOT_KEPT = ("security.capability", "security.evm", "security.ima")
# Not permitted, not supported, or deleted in the meantime.
_PASSED_OVER = (errno.ENOENT, errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENODATA)
_NO_SUCH_OWNER = (errno.EPERM, errno.EINVAL)  # the second is for a user that this container does not know


def keep_attributes(old: str, status: os.stat_result, new: int) -> None:
    """Copy a file's attributes to the descriptor `new` as far as the system permits, without set-id bits.

    `old` is its path, which is not followed if it is a link; `status` is its state.
    """
    mode = _keep_owner(status, new)
    if hasattr(os, "listxattr"):  # Linux alone
        names = _extended_names(old)
        for attribute in names:
            if attribute not in _NOT_KEPT:
                _try(_PASSED_OVER, _copy_attribute, old, attribute, new)
        for attribute in _extended_names(new):
            if attribute in _ACCESS_LISTS and attribute not in names:
                os.removexattr(new, attribute)  # the folder gave it one
    os.fchmod(new, mode)


def _keep_owner(old: os.stat_result, new: int) -> int:
    """Copy owner and group as far as permitted, and return the mode that is safe with them."""
    own = os.fstat(new)
    if own.st_uid != old.st_uid:
        _try(_NO_SUCH_OWNER, os.fchown, new, old.st_uid, -1)
    if own.st_gid != old.st_gid:
        _try(_NO_SUCH_OWNER, os.fchown, new, -1, old.st_gid)
    mode = stat.S_IMODE(old.st_mode) & 0o777
    if os.fstat(new).st_gid == old.st_gid:
        return mode
    return mode & (~0o070 | (mode & 0o007) << 3)  # a different group gets no more rights than others


def _try(codes: tuple[int, ...], function: Callable[..., object], *arguments: object) -> None:
    try:
        function(*arguments)
    except OSError as error:
        if error.errno not in codes:
            raise


def _copy_attribute(old: str, attribute: str, new: int) -> None:
    os.setxattr(new, attribute, os.getxattr(old, attribute, follow_symlinks=False))


def _extended_names(file: str | int) -> list[str]:
    try:
        return os.listxattr(file, follow_symlinks=isinstance(file, int))
    except OSError as error:
        if error.errno not in _PASSED_OVER:
            raise
        return []
