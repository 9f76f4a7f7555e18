"""Version tokens: what a file contains, in sixteen characters."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_filesystem._ledger import Stamp
from tools_filesystem._read._source import read_into
from tools_filesystem._step import open_in

if TYPE_CHECKING:
    from hashlib import _Hash  # pyright: ignore[reportPrivateUsage]  (hashlib has no public name for it)

LARGEST = 256 << 20  # bytes of a file that still has a version
_BLOCK = 256 * 1024


def version_of(content: bytes | int) -> str | None:
    """The version of some content, or of the file behind a descriptor; None when that is larger than `LARGEST`."""
    hashed = _new_hash()
    if isinstance(content, bytes):
        hashed.update(content)
        return hashed.hexdigest()[:16]
    view, position = memoryview(bytearray(_BLOCK)), 0
    while position <= LARGEST:  # it may grow while it is read
        count = read_into(content, view, position)
        if not count:
            return hashed.hexdigest()[:16]
        hashed.update(view[:count])
        position += count
    return None


def check_unchanged(
    folder: int, name: str, path: str, before: os.stat_result, version: str | None = None
) -> os.stat_result:
    """Raise `conflict` when a file is no longer what `before` tells; its `version` forgives a touch of its times.

    Returns the state that was found to be right.
    """
    try:
        now = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        raise ToolError(f"{path!r} was deleted meanwhile; nothing was changed", "conflict") from None
    if Stamp.of(now) != Stamp.of(before) and (version is None or version != _version_at(folder, name)):
        raise ToolError(f"{path!r} was changed meanwhile by somebody else; read it again, then retry", "conflict")
    return now


def _version_at(folder: int, name: str) -> str | None:
    descriptor = open_in(folder, name)
    try:
        return version_of(descriptor)
    finally:
        os.close(descriptor)


def _new_hash() -> _Hash:
    from hashlib import sha256  # it loads OpenSSL, which reading and searching never need

    return sha256()
