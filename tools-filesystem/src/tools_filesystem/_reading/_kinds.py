"""The type of a file, and its MIME type."""

from __future__ import annotations

import mimetypes
import stat

from tools_core import File
from tools_filesystem._reading._encoding import detect

PDF = "application/pdf"
_UNKNOWN = "application/octet-stream"
_TYPES = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "directory",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "pipe",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}


def type_of(mode: int) -> str:
    """Return the type of a file by its mode."""
    return _TYPES.get(stat.S_IFMT(mode), "special")


def media_type(start: bytes, name: str) -> str:
    """Return the MIME type of the first bytes, or else of the file name, unless the bytes contradict it."""
    detected = File(start).mime_type
    if detected != _UNKNOWN:
        return detected
    named = mimetypes.guess_type(name)[0] or ""
    if detect(start) is not None:
        return named or "text/plain"
    return _UNKNOWN if named.startswith("text/") else named or _UNKNOWN
