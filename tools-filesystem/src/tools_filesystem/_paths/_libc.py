"""Calls of the C library that Python does not offer."""

from __future__ import annotations

import errno
import functools
import os
import sys
from typing import Any


def call_libc(name: str, *arguments: int | bytes) -> int:
    """Call a function of the C library; OSError where it fails, with ENOSYS where it is missing (outside Linux)."""
    function = _function(name) if sys.platform == "linux" else None
    if function is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), name)
    import ctypes  # loaded already

    result: int = function(*(ctypes.c_long(one) if isinstance(one, int) else one for one in arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


@functools.cache
def _function(name: str) -> Any:
    try:
        import ctypes  # 5 ms, and only where it is used; a Python may be built without it

        return getattr(ctypes.CDLL(None, use_errno=True), name)
    except (ImportError, AttributeError):  # the C library is older than the call
        return None
