"""The MIME type of a file, by its first bytes before its name."""

from __future__ import annotations

import mimetypes

from tools_core import File

UNKNOWN = "application/octet-stream"
PDF = "application/pdf"
_SIGNATURES = (  # beyond those that content blocks know themselves
    (b"BM", 6, b"\0\0\0\0", "image/bmp"),
    (b"II*\0", 0, b"", "image/tiff"),
    (b"MM\0*", 0, b"", "image/tiff"),
    (b"\0\0\1\0", 0, b"", "image/vnd.microsoft.icon"),
    (b"", 4, b"ftypavif", "image/avif"),
    (b"", 4, b"ftypheic", "image/heic"),
    (b"", 4, b"ftypM4A", "audio/mp4"),
    (b"", 4, b"ftyp", "video/mp4"),
    (b"FORM", 8, b"AIFF", "audio/aiff"),
    (b"\xff\xf3", 0, b"", "audio/mpeg"),
    (b"\xff\xf2", 0, b"", "audio/mpeg"),
    (b"\x1aE\xdf\xa3", 0, b"", "video/webm"),
    (b"PK\3\4", 0, b"", "application/zip"),
    (b"\x1f\x8b", 0, b"", "application/gzip"),
    (b"7z\xbc\xaf\x27\x1c", 0, b"", "application/x-7z-compressed"),
    (b"\xfd7zXZ\0", 0, b"", "application/x-xz"),
    (b"(\xb5/\xfd", 0, b"", "application/zstd"),
    (b"\x7fELF", 0, b"", "application/x-elf"),
    (b"SQLite format 3\0", 0, b"", "application/vnd.sqlite3"),
)


def media_type(start: bytes, name: str) -> str:
    """The MIME type that the first bytes give away, else that of the name's ending."""
    by_content = _by_content(start)
    if by_content != UNKNOWN:
        return by_content
    return mimetypes.guess_type(name)[0] or UNKNOWN


def _by_content(start: bytes) -> str:
    known = File(start).mime_type
    if known != UNKNOWN:
        return known
    for head, at, inner, kind in _SIGNATURES:
        if start.startswith(head) and start.startswith(inner, at):
            return kind
    return UNKNOWN
