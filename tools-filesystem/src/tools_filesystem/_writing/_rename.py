"""Renames that never replace an unchecked entry."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_core.linux import RENAME_NOREPLACE, renameat2
from tools_filesystem._paths._resolve import SpecialFileError

if TYPE_CHECKING:
    from tools_filesystem._paths._located import Located

# Not supported by the kernel, a container's filter or the file system.
_UNKNOWN = (errno.ENOSYS, errno.EINVAL, errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP)


def rename_new(folder: int, name: str, to_folder: int, to_name: str) -> None:
    """Rename; FileExistsError if the new name exists."""
    try:
        renameat2(name, to_name, RENAME_NOREPLACE, src_dir_fd=folder, dst_dir_fd=to_folder)
    except OSError as error:
        if error.errno not in _UNKNOWN:
            raise
        _by_two_steps(folder, name, to_folder, to_name)


def put(folder: int, name: str, goal: Located) -> None:
    """Rename to the destination; FileExistsError if something was created there in the meantime."""
    if goal.status is None:
        rename_new(folder, name, goal.folder, goal.name)
    else:
        os.rename(name, goal.name, src_dir_fd=folder, dst_dir_fd=goal.folder)
    for changed in {folder, goal.folder}:
        with suppress(OSError):  # an error would deny the change
            os.fsync(changed)


def check_free(source: Located, goal: Located, *, overwrite: bool) -> None:
    """Raise ToolError (`conflict`) unless the destination is free, or can be replaced and `overwrite` is set."""
    state, path = source.state, goal.argument
    if goal.status is None:
        if path.endswith("/") and not source.is_folder:
            message = f"{path!r} ends with a slash, but {source.name!r} is not a folder; give its new path in full"
            raise ToolError(message, "conflict")
        return
    if os.path.samestat(state, goal.status):
        raise ToolError(f"{path!r} is the same file already; choose another destination", "conflict")
    if goal.is_folder:
        name = f"{path.rstrip('/')}/{source.name}"
        message = f"{path!r} is a folder; give the new path in full, such as {name!r}, or delete it first"
        raise ToolError(message, "conflict")
    if source.is_folder:
        raise ToolError(f"{path!r} exists and is a file, which a folder cannot replace; delete it first", "conflict")
    if not overwrite:
        raise ToolError(f"{path!r} exists; pass overwrite=true to replace it", "conflict")
    if not stat.S_ISREG(goal.status.st_mode) and not stat.S_ISLNK(goal.status.st_mode):
        raise SpecialFileError(path)


def _by_two_steps(folder: int, name: str, to_folder: int, to_name: str) -> None:
    """Claim the new name first, with something that the rename can replace: a hard link, or an empty folder."""
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISDIR(status.st_mode):
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
