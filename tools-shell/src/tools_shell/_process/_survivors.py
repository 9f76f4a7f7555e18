"""Finding what left the process group: who carries the job's mark in its environment is part of it."""

from __future__ import annotations

import os
import signal

_ROUNDS = 20  # one that forks while it is looked for is found in a later round


def end_marked(mark: str, *, spare: int = 0) -> None:
    """Kill every process but `spare` whose environment has the entry `mark`.

    It finds a child that made a session of its own or was adopted by init; one that emptied its environment gets away,
    and so does everything where there is no /proc.
    """
    for _ in range(_ROUNDS):
        if not signal_marked(mark, signal.SIGKILL, spare=spare):
            return


def signal_marked(mark: str, number: int, *, spare: int = 0) -> int:
    """Send a signal to every process but `spare` that has the mark; returns how many there were."""
    entry = os.fsencode(mark)
    return sum(_signal_if_marked(pid, entry, number) for pid in _processes() if pid != spare)


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def _signal_if_marked(pid: int, entry: bytes, number: int) -> bool:
    if not _has(pid, entry):
        return False
    try:
        process = os.pidfd_open(pid)
    except (AttributeError, OSError):
        return False
    try:
        if not _has(pid, entry):  # asked again, now that the number cannot pass to another process unnoticed
            return False
        signal.pidfd_send_signal(process, number)
    except OSError:
        return False
    finally:
        os.close(process)
    return True


def _has(pid: int, entry: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return entry in file.read().split(b"\0")
    except OSError:
        return False
