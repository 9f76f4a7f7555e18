"""The processes below one, and their end; needs /proc, and finds nothing without it."""

from __future__ import annotations

import os
import signal
from contextlib import suppress


def children(pid: int) -> list[int]:
    """The children of a process, those that have ended but are not waited for among them."""
    found: list[bytes] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += file.read().split()
    except OSError:  # it has ended, or this kernel does not list children (CONFIG_PROC_CHILDREN)
        return _with_parent(pid) if not found else [int(number) for number in found]
    return [int(number) for number in found]


def descendants(root: int) -> dict[int, int]:
    """Every process below `root` with its parent; parents come first."""
    found: dict[int, int] = {}
    level = [root]
    while level:
        below = {child: pid for pid in level for child in children(pid) if child not in found}
        found |= below
        level = list(below)
    return found


def end_orphans(orphans: set[int], parent: int) -> None:
    """One round of killing these children of `parent` and all below them; what forks meanwhile needs another."""
    for orphan in orphans:
        below = descendants(orphan)
        for pid, known in ((orphan, parent), *below.items()):
            _kill(pid, known)


def end_tree(root: int) -> None:
    """Kill a process with all below it, as far as that can be done from outside; it adopts its orphans."""
    with suppress(OSError):  # it has ended
        os.kill(root, signal.SIGSTOP)
    for _ in range(50):
        alive = {pid: parent for pid, parent in descendants(root).items() if _stat(pid)[:1] not in ([b"Z"], [])}
        if not alive:
            break
        for pid, parent in alive.items():
            _kill(pid, parent)
    with suppress(OSError):  # it has ended
        os.killpg(root, signal.SIGKILL)


def _kill(pid: int, parent: int) -> None:
    """Kill a process if it still is that parent's child: its number may have passed to another."""
    with suppress(AttributeError, OSError):  # it may have ended; and only Linux has these calls
        process = os.pidfd_open(pid)
        try:
            if _stat(pid)[1:2] == [b"%d" % parent]:
                signal.pidfd_send_signal(process, signal.SIGKILL)
        finally:
            os.close(process)


def _stat(pid: int) -> list[bytes]:
    """State and parent, from /proc/PID/stat (proc_pid_stat(5)); nothing when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[:2]  # the name may have any character in it, `)` included
    except OSError:
        return []


def _with_parent(pid: int) -> list[int]:
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    wanted = [b"%d" % pid]
    return [int(name) for name in names if name.isdigit() and _stat(int(name))[1:2] == wanted]
