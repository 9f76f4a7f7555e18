"""Ending what left the process group: who carries the job's mark in its environment is part of it."""

from __future__ import annotations

import os
import signal

_ROUNDS = 20  # one that forks while it is looked for is found in a later round


def end_marked(mark: str) -> None:
    """Kill every process whose environment has the entry `mark`; does nothing where there is no /proc.

    It finds a child that made a session of its own or was adopted by init; one that emptied its environment
    gets away.
    """
    entry = os.fsencode(mark)
    for _ in range(_ROUNDS):
        if not [pid for pid in _processes() if _end_if_marked(pid, entry)]:
            return


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def _end_if_marked(pid: int, entry: bytes) -> bool:
    if not _has(pid, entry):
        return False
    try:
        process = os.pidfd_open(pid)
    except (AttributeError, OSError):
        return False
    try:
        if not _has(pid, entry):  # asked again, now that the number cannot pass to another process unnoticed
            return False
        signal.pidfd_send_signal(process, signal.SIGKILL)
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
