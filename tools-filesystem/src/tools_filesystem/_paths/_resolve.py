"""Resolve names to an open folder inside a root, without a check that an open could outrun.

There are two resolvers: the kernel's `openat2` with RESOLVE_BENEATH (Linux 5.6), and a walk.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_core.linux import RESOLVE_BENEATH, RESOLVE_NO_MAGICLINKS, openat2
from tools_filesystem._paths._mounts import is_pseudo_file

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from tools_filesystem._paths._access import PinnedRoot

MAX_LINKS = 40  # as in the kernel
_MAX_STEPS = 20_000
_RESOLVE = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS
# There is no such call, or a container forbids it; also what it refuses to do itself: an absolute link that points back
# inside, and a path that has become too long.
_TO_WALK = (errno.ENOSYS, errno.EPERM, errno.EXDEV, errno.ENAMETOOLONG)


class SpecialFileError(OSError):
    """A pipe, socket or device, which is never opened."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.EINVAL, "is not a regular file", path)


def open_folder(root: PinnedRoot, names: Sequence[str]) -> int:
    """Open a folder below a root, as a base for other names; OSError, with EXDEV if the names lead outside."""
    if names:
        try:
            return openat2("/".join(names), _flags(), dir_fd=root.descriptor, resolve=_RESOLVE)
        except OSError as error:
            if error.errno not in _TO_WALK:
                raise
    return _walk(root, names)


def open_inner(folder: int, name: str = ".") -> int:
    """Open a subfolder for listing, locking and syncing; NotADirectoryError for a link, too."""
    try:
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP:  # the error of some systems for a link
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), name) from error
        raise


def open_file(folder: int, name: str) -> int:
    """Open a regular file in a folder for reading; OSError for anything else, which is not opened."""
    if not hasattr(os, "O_PATH"):  # macOS, where a device that is swapped in just now may be opened, unread
        check_regular(os.stat(name, dir_fd=folder, follow_symlinks=False), name)
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    pinned = os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=folder)
    try:
        check_regular(os.fstat(pinned), name)
        return os.open(f"/proc/self/fd/{pinned}", os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError as error:
        raise ToolError("files cannot be read safely here: /proc is not mounted", "unavailable") from error
    finally:
        os.close(pinned)


def lstat(folder: int, path: str) -> os.stat_result | None:
    """Return the state of a name in a folder without following links; None if it cannot be read."""
    try:
        return os.stat(path, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None


def present(folder: int, paths: Iterable[str]) -> dict[str, os.stat_result]:
    """Return those paths in a folder that exist, with their states, without following links."""
    states: dict[str, os.stat_result] = {}
    for path in paths:
        try:
            states[path] = os.stat(path, dir_fd=folder, follow_symlinks=False)
        except OSError:
            continue
    return states


def link_targets(folder: int, names: Iterable[str]) -> dict[tuple[int, int], str]:
    """Return those names in a folder that are links, by the device and inode of their targets."""
    targets: dict[tuple[int, int], str] = {}
    for name in names:
        try:
            if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                target = os.stat(name, dir_fd=folder)
                targets[target.st_dev, target.st_ino] = name
        except OSError:  # missing, or a dangling link
            continue
    return targets


@contextmanager
def closing(descriptor: int) -> Generator[int]:
    """Close a descriptor at the end of the block."""
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def check_regular(status: os.stat_result, path: str) -> None:
    """Raise OSError for anything but a regular file."""
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, "became a link meanwhile", path)
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(status.st_mode) or is_pseudo_file(status):
        raise SpecialFileError(path)


def _flags() -> int:
    return os.O_DIRECTORY | (getattr(os, "O_PATH", os.O_RDONLY))


def _walk(root: PinnedRoot, names: Sequence[str]) -> int:
    """Open one component at a time, because `O_NOFOLLOW` does not apply to a name with a trailing slash."""
    todo, here = list(names)[::-1], list[str]()  # `here` are the names from the root, none of them a link
    folder = os.open(".", _flags(), dir_fd=root.descriptor)
    links, code = 0, errno.ELOOP
    try:
        for _ in range(_MAX_STEPS):
            if not todo:
                return folder
            name = todo.pop()
            status = _enter(folder, name) if name != ".." else ""
            if isinstance(status, int):
                os.close(folder)
                folder = status
                here.append(name)
                continue
            links += name != ".."
            if name == ".." and not here:
                code = errno.EXDEV
            if links > MAX_LINKS or code == errno.EXDEV:
                break
            todo += root.names_of(status)[::-1]
            if name == ".." or status.startswith("/"):
                # Down again from the root, because the folder above may have been moved out of it meanwhile.
                todo += here[-2::-1] if name == ".." else []
                here = []
                os.close(folder)
                folder = os.open(".", _flags(), dir_fd=root.descriptor)
    except BaseException:
        os.close(folder)
        raise
    os.close(folder)
    raise OSError(code, os.strerror(code), "/".join(names))


def _enter(folder: int, name: str) -> int | str:
    """Open a folder by its bare name, or return the target if that is a link."""
    try:
        return os.open(name, _flags() | os.O_NOFOLLOW, dir_fd=folder)
    except OSError as error:
        if error.errno not in (errno.ENOTDIR, errno.ELOOP):
            raise
        try:
            return os.readlink(name, dir_fd=folder)
        except OSError:  # a file
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), name) from error
