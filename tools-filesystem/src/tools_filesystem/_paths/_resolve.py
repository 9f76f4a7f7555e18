"""From names to an open folder inside a root. No path is ever checked first and opened later.

Two resolvers do the same by different means: the kernel's `openat2` with RESOLVE_BENEATH (Linux 5.6), and a walk.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_filesystem._paths._kernel import is_pseudo_file
from tools_filesystem._paths._libc import call_libc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_filesystem._paths._access import PinnedRoot

MOST_LINKS = 40  # as the kernel has it
_MOST_STEPS = 20_000
_OPENAT2 = 437  # the same on every architecture that Python is built for
_NO_MAGICLINKS, _BENEATH = 0x02, 0x08
# There is no such call, or a container forbids it; also what it refuses to do itself: an absolute link that points back
# inside, and a path that has become too long.
_TO_WALK = (errno.ENOSYS, errno.EPERM, errno.EXDEV, errno.ENAMETOOLONG)


class SpecialFileError(OSError):
    """A pipe, a socket or a device, which is never opened for data."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.EINVAL, "is not a regular file", path)


def open_folder(root: PinnedRoot, names: Sequence[str]) -> int:
    """Open the folder that names lead to from a root, for its names alone; OSError, with EXDEV when they lead out."""
    if names:
        try:
            return _openat2(root.descriptor, "/".join(names))
        except OSError as error:
            if error.errno not in _TO_WALK:
                raise
    return _Walk(root, names).end()


def open_inner(folder: int, name: str = ".") -> int:
    """Open a folder in a folder so that it can be listed, locked and synced; NotADirectoryError also for a link."""
    try:
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP:  # what some systems say of a link
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), name) from error
        raise


def open_file(folder: int, name: str) -> int:
    """Open a regular file in a folder for reading; anything else raises OSError unopened."""
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


def check_regular(found: os.stat_result, path: str) -> None:
    """Raise OSError for what has no content to read or replace."""
    if stat.S_ISLNK(found.st_mode):
        raise OSError(errno.ELOOP, "became a link meanwhile", path)
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(found.st_mode) or is_pseudo_file(found):
        raise SpecialFileError(path)


def _flags() -> int:
    return os.O_DIRECTORY | (getattr(os, "O_PATH", os.O_RDONLY))


class _Walk:
    """Opens one bare name after the other, because `O_NOFOLLOW` does not hold for a name with a slash behind it."""

    def __init__(self, root: PinnedRoot, names: Sequence[str]) -> None:
        self.root = root
        self.todo = list(names)[::-1]
        self.here: list[str] = []  # the names from the root, none of them a link
        self.links = self.steps = 0
        self.folder = os.open(".", _flags(), dir_fd=root.descriptor)

    def end(self) -> int:
        try:
            while self.todo:
                self._take(self.todo.pop())
        except BaseException:
            os.close(self.folder)
            raise
        return self.folder

    def _take(self, name: str) -> None:
        if name == "..":
            if not self.here:
                raise OSError(errno.EXDEV, "is outside the workspace", name)
            # Down again from the root, because the folder above may have been moved out of it meanwhile.
            self._restart([*self.here[:-1], *reversed(self.todo)])
            return
        self._step(name)
        found = _enter(self.folder, name)
        if isinstance(found, int):
            os.close(self.folder)
            self.folder = found
            self.here.append(name)
            return
        self.links += 1
        if self.links > MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
        target = self.root.names_of(found)
        if found.startswith("/"):
            self._restart([*target, *reversed(self.todo)])
        else:
            self.todo += target[::-1]

    def _restart(self, names: list[str]) -> None:
        self._step("..")
        os.close(self.folder)
        self.folder = os.open(".", _flags(), dir_fd=self.root.descriptor)
        self.here = []
        self.todo = names[::-1]

    def _step(self, name: str) -> None:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)


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


def _openat2(folder: int, path: str) -> int:
    how = struct.pack("QQQ", _flags() | os.O_CLOEXEC, 0, _BENEATH | _NO_MAGICLINKS)
    while True:
        try:
            return call_libc("syscall", _OPENAT2, folder, os.fsencode(path), how, len(how))
        except OSError as error:
            # EAGAIN: something was renamed meanwhile, and the kernel could not tell whether `..` stayed inside.
            if error.errno not in (errno.EAGAIN, errno.EINTR):
                raise
