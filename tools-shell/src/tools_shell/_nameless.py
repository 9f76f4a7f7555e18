"""Files without a name."""

from __future__ import annotations

import os
from typing import BinaryIO


def nameless_file(purpose: str) -> BinaryIO:
    """Return an unbuffered file that no other program can find."""
    if hasattr(os, "memfd_create"):  # Linux
        return open(os.memfd_create(purpose, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING), "r+b", buffering=0)
    import tempfile  # 10 ms that Linux does not need

    return tempfile.TemporaryFile(buffering=0)
