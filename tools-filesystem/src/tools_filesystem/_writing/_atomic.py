"""Writing a file so that others see the old content or the new, and a crash leaves one of the two."""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING
from zlib import crc32

from tools_core import ToolError
from tools_filesystem._paths._protected import OWN
from tools_filesystem._writing._attributes import keep_attributes
from tools_filesystem._writing._lock import hold
from tools_filesystem._writing._rename import exchange, identity, rename_new

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_NO_TMPFILE = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT)


def put(
    folder: int,
    name: str,
    data: bytes | Sequence[bytes | memoryview],
    replaced: os.stat_result | None,
    before: Callable[[], os.stat_result] | None = None,
) -> os.stat_result:
    """Make `data` the content of `name` and return its new state; FileExistsError if it exists and `replaced` is None.

    `data` may come in pieces. A file that is replaced keeps its attributes.
    `before` is called just before that, and returns the state that may be replaced or raises: where the
    system can exchange names, nothing else ever is. The folder is locked by this, if it was not before.
    """
    hold(folder)
    descriptor, temporary = _open_aside(folder, 0o666 if replaced is None else 0o600)
    try:
        size = sum(_written(descriptor, piece) for piece in ([data] if isinstance(data, bytes) else data))
        if replaced is not None:
            keep_attributes(folder, name, replaced, descriptor)
        os.fsync(descriptor)
        state = os.fstat(descriptor)
        if state.st_size != size:
            raise OSError(errno.EIO, "not all of it was written; nothing was changed")
        if replaced is not None:
            if temporary is None:  # it gets a name only now, so that there is next to no time to leave litter
                temporary = _free_name(folder)
                _link(descriptor, folder, temporary)
            if before is not None:
                _replace_checked(folder, temporary, name, before)
            else:
                os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        elif temporary is None:
            _link(descriptor, folder, name)
        else:
            rename_new(folder, temporary, folder, name)
        with suppress(OSError):  # the file is there for all to see: an error would say that it is not
            os.fsync(folder)
            state = os.fstat(descriptor)  # the new name changed it
    finally:
        if temporary is not None:
            _tidy(folder, temporary, descriptor, replaced)
        os.close(descriptor)
    return state


def _replace_checked(folder: int, temporary: str, name: str, before: Callable[[], os.stat_result]) -> None:
    """Replace a file, and look at what was replaced: whoever came in between gets it back, and we a `conflict`."""
    expected = before()
    try:
        if not exchange(folder, temporary, name):
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            return
    except FileNotFoundError:
        before()  # says that it was deleted
        raise
    try:
        is_expected = identity(os.stat(temporary, dir_fd=folder, follow_symlinks=False)) == identity(expected)
    except BaseException:
        exchange(folder, temporary, name)
        raise
    if not is_expected:
        exchange(folder, temporary, name)
        before()  # says that it was changed
        raise ToolError(f"{name!r} was changed meanwhile by another program; nothing was changed: retry", "conflict")


def _tidy(folder: int, name: str, new: int, replaced: os.stat_result | None) -> None:
    """Remove the temporary file, old or new, but never one that another program has put there."""
    for _ in range(2):  # what cannot be done now is left to the next write
        with suppress(OSError):
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if any(os.path.samestat(found, known) for known in (os.fstat(new), replaced) if known is not None):
                os.unlink(name, dir_fd=folder)


def _open_aside(folder: int, mode: int) -> tuple[int, str | None]:
    """A new file in `folder`: without a name where the system can, so that a crash leaves nothing."""
    if hasattr(os, "O_TMPFILE") and os.path.exists("/proc/self/fd"):  # the way by which it gets its name
        try:
            return os.open(".", os.O_RDWR | os.O_TMPFILE, mode, dir_fd=folder), None
        except OSError as error:
            if error.errno not in _NO_TMPFILE:
                raise
    name = _free_name(folder)
    return os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=folder), name


def _free_name(folder: int) -> str:
    """Return the name of a temporary file in a locked folder, and remove what a crash has left there.

    It is the same for all writes of one user on one machine, so that a file of that name was left by a crash. If it
    cannot be removed, it is not ours, and another name is used.
    """
    name = f"{OWN}{crc32(f'{os.uname().nodename} {os.geteuid()}'.encode()):08x}.tmp"
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        pass
    except OSError:
        return f"{OWN}{secrets.token_hex(8)}.tmp"
    return name


def _written(descriptor: int, data: bytes | memoryview) -> int:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]
    return len(data)


def _link(descriptor: int, folder: int, name: str) -> None:
    """Give a file without a name this one; unlike a rename, it never replaces anything."""
    os.link(f"/proc/self/fd/{descriptor}", name, dst_dir_fd=folder, follow_symlinks=True)
