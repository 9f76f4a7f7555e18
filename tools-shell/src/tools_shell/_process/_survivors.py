"""Finding what left the process group: who carries the job's mark in its environment is part of it."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

from tools_shell._supervisor._descendants import place, send_if, stat

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = "ASK_TOOLS_JOB"
_ROUNDS = 20  # one that forks while it is looked for is found in a later round
_ROUND = 0.002  # seconds for a program that is just beginning to have its environment
_FLAGS = 6  # where they stand in what `stat` tells
_KERNEL_THREAD = 0x00200000  # among the flags of a process (PF_KTHREAD)


def marked(environment: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """A mark for one job, and the environment with it as an entry."""
    value = os.urandom(8).hex()
    return f"{_NAME}={value}", {**environment, _NAME: value}


def end_marked(mark: str, *, spare: int = 0) -> None:
    """Kill every process but `spare` whose environment has the entry `mark`.

    It finds a child that made a session of its own or was adopted by init; one that emptied its environment gets away,
    and so does everything where there is no /proc.
    """
    entry = os.fsencode(mark)
    for _ in range(_ROUNDS):
        found, may_be_more = _look(entry, spare)
        if not _signal(found, entry, signal.SIGKILL):
            if not may_be_more:
                return
            time.sleep(_ROUND)


def signal_marked(mark: str, number: int, *, spare: int = 0) -> None:
    """Send a signal to every process but `spare` that has the mark."""
    entry = os.fsencode(mark)
    _signal(_look(entry, spare)[0], entry, number)


def _look(entry: bytes, spare: int) -> tuple[list[int], bool]:
    """The processes that have the mark, and whether more may: who begins a program has no environment for a moment."""
    found: list[int] = []
    may_be_more = False
    for pid in _processes():
        environment = _environment(pid)
        if environment and pid != spare and entry in environment.split(b"\0"):
            found.append(pid)
        may_be_more |= environment == b"" and _is_program(pid)
    return found, may_be_more


def _signal(pids: list[int], entry: bytes, number: int) -> int:
    """Send a signal to those that still have the mark; returns how many there were."""
    return sum(send_if(lambda pid: entry in (_environment(pid) or b"").split(b"\0"), pid, number) for pid in pids)


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def _environment(pid: int) -> bytes | None:
    """What a program began with; None where that is nobody's business."""
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


def _is_program(pid: int) -> bool:
    """Whether it is neither a part of the kernel nor a process that has ended."""
    fields = stat(pid)
    return len(fields) > _FLAGS and fields[0] not in b"ZX" and not int(fields[_FLAGS]) & _KERNEL_THREAD
