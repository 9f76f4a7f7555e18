"""Pseudo files, as below /proc: they describe the machine, and may never end."""

from __future__ import annotations

import os

_FILE_SYSTEMS = frozenset(
    {
        *("proc", "sysfs", "debugfs", "tracefs", "securityfs", "configfs", "bpf", "cgroup", "cgroup2", "selinuxfs"),
        *("binfmt_misc", "devpts", "efivarfs", "fusectl", "mqueue", "nsfs", "pstore", "resctrl"),
    }
)


def is_made_up(found: os.stat_result) -> bool:
    """Return whether a regular file is made by the kernel while it is read."""
    if found.st_blocks or os.major(found.st_dev):  # it has a place on a disk, or in memory
        return False
    device = f"{os.major(found.st_dev)}:{os.minor(found.st_dev)}"
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as mounts:
            kinds = {line.partition(" - ")[2].split(" ", 1)[0] for line in mounts if line.split(" ", 3)[2] == device}
    except OSError:  # not Linux
        return False
    return not kinds.isdisjoint(_FILE_SYSTEMS)
