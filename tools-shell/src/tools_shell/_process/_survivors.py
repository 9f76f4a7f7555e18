"""Finding processes that left the process group, by the job's mark in their environment."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from tools_shell._supervisor._descendants import send_if

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = "ASK_TOOLS_JOB"
_ROUNDS = 60  # one that forks while it is looked for is found in a later round


def marked(environment: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """A mark for one job, and the environment with it as an entry."""
    value = os.urandom(8).hex()
    return f"{_NAME}={value}", {**environment, _NAME: value}


def end_marked(mark: str) -> None:
    """Kill every process whose environment has the entry `mark`.

    It finds a child that made a session of its own or was adopted by init; one that emptied its environment gets away,
    and so does everything where there is no /proc.
    """
    for _ in range(_ROUNDS):
        found = [pid for pid in _processes() if _has(pid, mark)]
        for pid in found:
            send_if(lambda pid: _has(pid, mark), pid, signal.SIGKILL)
        if not found:
            return


def is_any_left(mark: str) -> bool:
    """Return whether a process may have the mark, as one may where there is no /proc."""
    found = _processes()
    return not found or any(_has(pid, mark) for pid in found)


def _processes() -> list[int]:
    """All of them, the newest first: it is they who go on to fork."""
    try:
        return sorted((int(name) for name in os.listdir("/proc") if name.isdigit()), reverse=True)
    except OSError:
        return []


def _has(pid: int, mark: str) -> bool:
    """Return whether the environment that a program began with has this entry."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return os.fsencode(mark) in file.read().split(b"\0")
    except OSError:  # it has ended, or is another user's
        return False
