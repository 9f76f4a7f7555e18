"""The MIME type of a file, by its first bytes before its name."""

from __future__ import annotations

import mimetypes

from tools_core import File
from tools_filesystem._reading._encoding import detect

UNKNOWN = "application/octet-stream"
PDF = "application/pdf"


def media_type(start: bytes, name: str) -> str:
    """Return the MIME type of the first bytes, else that of the name's ending, unless they contradict it."""
    known = File(start).mime_type
    if known != UNKNOWN:
        return known
    named = mimetypes.guess_type(name)[0] or ""
    if detect(start) is not None:
        return named or "text/plain"
    return UNKNOWN if named.startswith("text/") else named or UNKNOWN
