"""Operating-system features without a Python API: C library calls, pseudo files such as those in /proc, mounts."""

from __future__ import annotations

import errno
import functools
import os
import re
import sys
from typing import Any

_ESCAPED = re.compile(rb"\\([0-7]{3})")
_FILE_SYSTEMS = frozenset(
    {
        *("proc", "sysfs", "debugfs", "tracefs", "securityfs", "configfs", "bpf", "cgroup", "cgroup2", "selinuxfs"),
        *("binfmt_misc", "devpts", "efivarfs", "fusectl", "mqueue", "nsfs", "pstore", "resctrl"),
    }
)


def is_pseudo_file(found: os.stat_result) -> bool:
    """Return whether the kernel generates a regular file's content on each read, as in /proc."""
    if found.st_blocks or os.major(found.st_dev):  # it has a place on a disk, or in memory
        return False
    device = f"{os.major(found.st_dev)}:{os.minor(found.st_dev)}"
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as mounts:
            kinds = {line.partition(" - ")[2].split(" ", 1)[0] for line in mounts if line.split(" ", 3)[2] == device}
    except OSError:  # not Linux
        return False
    return not kinds.isdisjoint(_FILE_SYSTEMS)


def mounts_below(folder: str) -> list[str]:
    """Return the mount points below a folder, given its real path (Linux)."""
    try:
        with open("/proc/self/mountinfo", "rb") as mounts:
            points = [line.split(b" ", 5)[4] for line in mounts]
    except OSError:
        return []
    plain = [os.fsdecode(_ESCAPED.sub(lambda code: bytes([int(code[1], 8)]), point)) for point in points]
    return [point for point in plain if point.startswith(f"{folder.rstrip('/')}/") and point != "/"]


def call_libc(name: str, *arguments: int | bytes) -> int:
    """Call a C library function; OSError if it fails, with ENOSYS if it does not exist."""
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
