"""The kernel's own confinement: `openat2` with RESOLVE_BENEATH (Linux 5.6 and later)."""

from __future__ import annotations

import errno
import functools
import os
import struct
import sys
from typing import Any

_NUMBER = 437  # the same on every architecture that Python is built for
_NO_MAGICLINKS, _BENEATH = 0x02, 0x08


def openat2(folder: int, path: str, flags: int) -> int:
    """Open `path` below `folder`; OSError with EXDEV when it escapes, by a link or by a race."""
    how = struct.pack("QQQ", flags | os.O_CLOEXEC, 0, _BENEATH | _NO_MAGICLINKS)
    call, get_errno = _libc()
    while True:
        descriptor: int = call(_NUMBER, folder, os.fsencode(path), how, len(how))
        if descriptor >= 0:
            return descriptor
        code = get_errno()
        # EAGAIN: something was renamed meanwhile, and the kernel could not tell whether `..` stayed inside.
        if code not in (errno.EAGAIN, errno.EINTR):
            raise OSError(code, os.strerror(code), path)


@functools.cache
def is_supported() -> bool:
    """Return whether this kernel has the call, and no filter of a container forbids it."""
    if sys.platform != "linux":
        return False
    try:
        folder = os.open("/", os.O_PATH)
    except OSError:
        return False
    try:
        os.close(openat2(folder, ".", os.O_PATH))
    except (OSError, ImportError):  # a Python may be built without ctypes
        return False
    finally:
        os.close(folder)
    return True


@functools.cache
def _libc() -> tuple[Any, Any]:
    import ctypes  # 5 ms, and only where it is used

    return ctypes.CDLL(None, use_errno=True).syscall, ctypes.get_errno
