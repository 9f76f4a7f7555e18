"""The processes that a job consists of: all that descend from its supervisor, which orphans come back to."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

_THREADS = 17  # where their number stands in what `stat` tells


def descendants(root: int) -> dict[int, int]:
    """Every process below `root` with its parent; parents come first, and siblings by age."""
    children = _children if _lists_children() else _table()
    found: dict[int, int] = {}
    level = [root]
    while level:
        below = {child: pid for pid in level for child in children(pid) if child not in found}
        found |= below
        level = list(below)
    return found


def line_of(first: int, length: int, found: dict[int, int]) -> set[int]:
    """A process, its eldest child, the eldest child of that, ...: as many as there are of `length`."""
    line = [first] if first in found else []
    while line and len(line) < length:
        eldest = next((pid for pid, parent in found.items() if parent == line[-1]), None)
        if eldest is None:
            break
        line.append(eldest)
    return set(line[:length])


def groups_of(pids: Iterable[int]) -> set[int]:
    """The process groups that they are in; those of a job are its own, since its leader began a session.

    A process that is ending may have none: that reads 0 or -1, which killpg takes for something else.
    """
    return {group for pid in pids if (fields := stat(pid)) and (group := int(fields[2])) > 1}


def send(number: int, pids: Iterable[int], parents: Collection[int]) -> None:
    """Send a signal to each that is still there and has one of these parents: its number may have passed on."""
    for pid in pids:
        send_if(lambda pid: _parent(pid) in parents, pid, number)


def send_if(is_meant: Callable[[int], bool], pid: int, number: int) -> bool:
    """Send a signal to a process if it is the one that is meant; returns whether it was sent.

    Asked only when the process is held, so that its number cannot pass to another in between.
    """
    with suppress(AttributeError, OSError):  # it may have ended; and only Linux has these calls
        process = os.pidfd_open(pid)
        try:
            if is_meant(pid):
                signal.pidfd_send_signal(process, number)
                return True
        finally:
            os.close(process)
    return False


def kill(doomed: Collection[int], found: Collection[int], root: int) -> None:
    """One round of killing those among all the processes found below `root`; what forks meanwhile needs another."""
    # Whole groups at once, or a bomb that forks faster than we look stays ahead; then who made itself a group.
    for group in groups_of(doomed) - groups_of(set(found) - set(doomed)):
        with suppress(ProcessLookupError, PermissionError):  # it has ended, or is another user's by now
            os.killpg(group, signal.SIGKILL)
    send(signal.SIGKILL, doomed, {root, *found})


def stat(process: int | str) -> list[bytes]:
    """Return the fields after the name in /proc/PID/stat: state, parent, ...; empty when it is gone."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()  # the name may have any character in it, `)` included
    except OSError:
        return []


def is_zombie(pid: int) -> bool:
    """Return whether it has ended and waits for its parent; no signal changes that."""
    fields = stat(pid)
    return fields[:1] == [b"Z"] and has_ended(fields)


def has_ended(fields: list[bytes]) -> bool:
    """Return whether these fields are of a process without a living thread; the first may end before others."""
    return fields[0] in b"ZX" and int(fields[_THREADS]) <= 1


def place(pid: int) -> str:
    """Return where below /proc the memory of a process can be read: at a thread that has not ended."""
    threads: list[str] = []
    if stat(pid)[:1] == [b"Z"]:
        with suppress(OSError):  # it has ended now
            threads = [thread for thread in os.listdir(f"/proc/{pid}/task") if thread != str(pid)]
    return f"{pid}/task/{threads[-1]}" if threads else str(pid)


def _lists_children() -> bool:
    return os.path.exists(f"/proc/self/task/{os.getpid()}/children")


def _children(pid: int) -> list[int]:
    """The children of all threads of a process (Linux with CONFIG_PROC_CHILDREN)."""
    found: list[bytes] = []
    with suppress(OSError):  # it may have ended
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += file.read().split()
    return [int(number) for number in found]


def _table() -> Callable[[int], list[int]]:
    """The children of every process there is, for kernels that do not list them."""
    table: dict[int | None, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            table.setdefault(_parent(int(name)), []).append(int(name))
    return lambda pid: table.get(pid, [])


def _parent(pid: int) -> int | None:
    fields = stat(pid)
    return int(fields[1]) if len(fields) > 1 else None
