"""Mounts, and pseudo files such as in /proc."""

from __future__ import annotations

import os
import re

_ESCAPED = re.compile(rb"\\([0-7]{3})")
_FILE_SYSTEMS = frozenset(
    {
        *("proc", "sysfs", "debugfs", "tracefs", "securityfs", "configfs", "bpf", "cgroup", "cgroup2", "selinuxfs"),
        *("binfmt_misc", "devpts", "efivarfs", "fusectl", "mqueue", "nsfs", "pstore", "resctrl"),
    }
)


def is_pseudo_file(status: os.stat_result) -> bool:
    """Return whether the kernel generates a regular file's content on each read, as in /proc."""
    if status.st_blocks or os.major(status.st_dev):  # it has a place on a disk, or in memory
        return False
    device = f"{os.major(status.st_dev)}:{os.minor(status.st_dev)}"
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
