"""Finding processes that left the process group, by the job's mark in their environment."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

from tools_shell._supervisor._descendants import place, send_if, stat

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = "ASK_TOOLS_JOB"
_ROUNDS = 60  # one that forks while it is looked for is found in a later round
_BEGINNING = 20  # rounds, and seconds between them, for a program that is just beginning to have its environment
_ROUND = 0.002
_FLAGS = 6  # where they stand in what `stat` tells
_KERNEL_THREAD = 0x00200000  # among the flags of a process (PF_KTHREAD)


def marked(environment: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """A mark for one job, and the environment with it as an entry."""
    value = os.urandom(8).hex()
    return f"{_NAME}={value}", {**environment, _NAME: value}


def end_marked(mark: str) -> None:
    """Kill every process whose environment has the entry `mark`.

    It finds a child that made a session of its own or was adopted by init; one that emptied its environment gets away,
    and so does everything where there is no /proc.
    """
    ended: set[int] = set()
    for number in range(_ROUNDS):
        known = len(ended)
        sent, is_beginning = _kill(mark, ended)
        if not sent and len(ended) == known:
            if not is_beginning or number >= _BEGINNING:
                return
            time.sleep(_ROUND)


def is_any_left(mark: str) -> bool:
    """Return whether a process may have the mark, as one may where there is no /proc."""
    entry, found = os.fsencode(mark), _processes()
    return not found or any(_has(pid, entry) for pid in found)


def _kill(mark: str, ended: set[int]) -> tuple[int, bool]:
    """Kill those that have the mark, each as soon as it is found.

    Returns how many there were, and whether there may be more: a process has no environment while it begins a program.
    Those are added to `ended` that were looked at too late, and may have forked after they were listed.
    """
    entry = os.fsencode(mark)
    sent, is_beginning = 0, False
    for pid in _processes():
        environment = _environment(pid)
        if environment:
            if entry not in environment.split(b"\0"):
                continue
            if send_if(lambda pid: _has(pid, entry), pid, signal.SIGKILL):
                sent += 1
                continue
        fields = stat(pid)
        if environment or not fields or fields[0] in b"ZX":
            ended.add(pid)
        elif environment is not None and len(fields) > _FLAGS and not int(fields[_FLAGS]) & _KERNEL_THREAD:
            is_beginning = True
    return sent, is_beginning


def _processes() -> list[int]:
    """All of them, the newest first: it is they who go on to fork."""
    try:
        return sorted((int(name) for name in os.listdir("/proc") if name.isdigit()), reverse=True)
    except OSError:
        return []


def _has(pid: int, entry: bytes) -> bool:
    return entry in (_environment(pid) or b"").split(b"\0")


def _environment(pid: int) -> bytes | None:
    """Return the environment that a program began with; None where it may not be read."""
    found = _read(str(pid))
    if not found and (other := place(pid)) != str(pid):  # its first thread has ended before it
        found = _read(other)
    return found


def _read(process: str) -> bytes | None:
    try:
        with open(f"/proc/{process}/environ", "rb") as file:
            return file.read()
    except OSError:
        return None
