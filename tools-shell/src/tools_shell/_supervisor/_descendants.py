"""The processes of a job: all descendants of its supervisor, which adopts orphans."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

from tools_core.linux import process_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

_THREADS = 17  # their index in /proc/PID/stat


def wakeup_pipe() -> int:
    """Return a descriptor that becomes readable when a child exits."""
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    os.set_blocking(theirs, False)
    signal.set_wakeup_fd(theirs, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    return ours


def descendants(root: int) -> dict[int, int]:
    """Return every descendant of `root` with its parent; parents come first, siblings are in order of age."""
    children = _children if _lists_children() else _table()
    pids: dict[int, int] = {}
    level = [root]
    while level:
        below = {child: pid for pid in level for child in children(pid) if child not in pids}
        pids |= below
        level = list(below)
    return pids


def chain_of(first: int, length: int, pids: dict[int, int]) -> set[int]:
    """Return a process, its eldest child, that one's eldest child and so on, up to `length` processes."""
    line = [first] if first in pids else []
    while line and len(line) < length:
        eldest = next((pid for pid, parent in pids.items() if parent == line[-1]), None)
        if eldest is None:
            break
        line.append(eldest)
    return set(line[:length])


def groups_of(pids: Iterable[int]) -> set[int]:
    """Return the process groups of processes. A job has its own groups because its leader started a session.

    An exiting process may report 0 or -1, which killpg would misinterpret.
    """
    return {group for pid in pids if (fields := process_fields(pid)) and (group := int(fields[2])) > 1}


def send(number: int, pids: Iterable[int]) -> None:
    """Send a signal to processes that have not exited."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):  # it belongs to another user now
            os.kill(pid, number)


def kill(pids: Collection[int]) -> None:
    """Kill processes once; processes forked meanwhile need another round."""
    # Whole groups first, or a fork bomb stays ahead; then processes that made groups of their own.
    for group in groups_of(pids):
        with suppress(ProcessLookupError, PermissionError):  # as in `send`
            os.killpg(group, signal.SIGKILL)
    send(signal.SIGKILL, pids)


def is_zombie(pid: int) -> bool:
    """Return whether a process is a zombie, which no signal ends."""
    fields = process_fields(pid)
    return fields[:1] == [b"Z"] and has_ended(fields)


def has_ended(fields: list[bytes]) -> bool:
    """Return whether these fields describe a process without living threads; the main thread may exit before others."""
    return fields[0] in b"ZX" and int(fields[_THREADS]) <= 1


def _lists_children() -> bool:
    return os.path.exists(f"/proc/self/task/{os.getpid()}/children")


def _children(pid: int) -> list[int]:
    """Return the children of all threads of a process (Linux with CONFIG_PROC_CHILDREN)."""
    pids: list[bytes] = []
    with suppress(OSError):  # it may have exited
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                pids += file.read().split()
    return [int(number) for number in pids]


def _table() -> Callable[[int], list[int]]:
    """Return the children of every process, for kernels without CONFIG_PROC_CHILDREN."""
    table: dict[int | None, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            table.setdefault(_parent(int(name)), []).append(int(name))
    return lambda pid: table.get(pid, [])


def _parent(pid: int) -> int | None:
    fields = process_fields(pid)
    return int(fields[1]) if len(fields) > 1 else None
