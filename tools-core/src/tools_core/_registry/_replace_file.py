"""A file that is written whole, or left as it was."""

from __future__ import annotations

import os
from contextlib import suppress

_BINARY = getattr(os, "O_BINARY", 0)  # Windows would translate line ends


def write_new(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file that is not there yet; FileExistsError if it is, and on any failure nothing is left behind."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # a full disk is noticed now, not after the old file is gone
    except BaseException:
        with suppress(OSError):
            os.unlink(path)
        raise


def replace(path: str | os.PathLike[str], data: bytes) -> None:
    """Put a new file in the place of an old one in one step: who reads finds the one or the other.

    A link stays one, and its target is replaced; a device or a pipe is written to.
    """
    target = os.path.realpath(path)
    exists = os.path.exists(target)
    if exists and not os.path.isfile(target):
        with open(target, "wb") as file:
            file.write(data)
        return
    temporary = f"{target}.{os.urandom(4).hex()}.tmp"
    write_new(temporary, data)
    try:
        if exists:
            os.chmod(temporary, os.stat(target).st_mode & 0o7777)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
