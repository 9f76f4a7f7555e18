"""Replacing a file in one step."""

from __future__ import annotations

import os
from contextlib import suppress
from stat import S_IMODE


def replace(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file in one step: other processes read the old content or the new one, never a part.

    The target of a link is replaced, permissions stay, and a device or a pipe is written to.
    """
    target = os.path.realpath(path)
    exists = os.path.exists(target)
    if exists and not os.path.isfile(target):
        with open(target, "wb") as file:
            file.write(data)
        return
    temporary = f"{target}.{os.urandom(4).hex()}.tmp"
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # a full disk is an error now, while the old file exists
        if exists:
            os.chmod(temporary, S_IMODE(os.stat(target).st_mode))
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
