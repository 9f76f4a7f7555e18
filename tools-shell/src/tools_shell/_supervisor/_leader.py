"""The first process of a job: the command itself, or what wraps it."""

from __future__ import annotations

import fcntl
import json
import os
import signal
from typing import Any, TypeAlias

from tools_shell._supervisor._confine import confine
from tools_shell._supervisor._limits import as_before, limit, limit_open_files
from tools_shell._supervisor._system import gain_nothing, set_visible

# Signals that Python handles or ignores, which a program would go on ignoring.
_SIGNALS = (signal.SIGCHLD, signal.SIGPIPE, signal.SIGINT, signal.SIGXFSZ)
Problem: TypeAlias = tuple[int | None, str]  # errno, and the words for it
_ROOM = 300  # numbers above those of the command, for descriptors that a sandbox adds


def start_leader(request: dict[str, Any], descriptors: list[int]) -> tuple[int, Problem | None]:
    """Start it; returns the process and None, or what went wrong.

    The folder to start in, the limits and that no rights are gained become the supervisor's own, which does it no harm.
    """
    try:
        os.fchdir(descriptors[-1])
        limit(request["resources"], request["wrappers"])
        if request["confine"] is None:  # sandboxes see to it themselves: bwrap may need what is gained here
            gain_nothing()  # what has become another user's, no signal of ours would end
        if request["confine"] is None and not request["terminal"] and request["resources"]["open_files"] is None:
            return _spawn(request, descriptors), None
        return _fork(request, descriptors)
    except OSError as error:
        return 0, (error.errno, str(error))


def _spawn(request: dict[str, Any], descriptors: list[int]) -> int:
    """The quick way: nothing of our memory is copied, so nothing can be done in between."""
    numbers = request["numbers"]
    high = _above(numbers, descriptors)
    as_before(max(high))
    placed = [(os.POSIX_SPAWN_DUP2, descriptor, number) for number, descriptor in zip(numbers, high, strict=True)]
    try:
        return os.posix_spawn(
            request["arguments"][0],
            request["arguments"],
            request["environment"],
            file_actions=placed,
            setsid=True,  # out of reach of every terminal
            setsigdef=_SIGNALS,
        )
    finally:
        for descriptor in high:
            os.close(descriptor)


def _fork(request: dict[str, Any], descriptors: list[int]) -> tuple[int, Problem | None]:
    problem, report = os.pipe()
    pid = os.fork()
    if pid == 0:
        report = fcntl.fcntl(report, fcntl.F_DUPFD_CLOEXEC, max(request["numbers"]) + _ROOM)
        try:
            _become(request, descriptors, report)
        # Whatever it is must be told, and must end here: this is a copy of the supervisor.
        except BaseException as error:  # noqa: BLE001
            where = [getattr(error, "errno", None), f"{type(error).__name__}: {error}"]
            os.write(report, json.dumps(where).encode())
        finally:
            os._exit(127)
    os.close(report)
    with open(problem, "rb", buffering=0) as told:
        words = told.readall()  # ends when the program runs: the other end is closed by that
    return pid, json.loads(words) if words else None


def _become(request: dict[str, Any], descriptors: list[int], report: int) -> None:
    set_visible(visible=True)  # to itself, in /proc: the supervisor is not
    os.setsid()  # out of reach of every terminal but its own
    signal.set_wakeup_fd(-1)
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    _place(request["numbers"], descriptors, report)
    if request["terminal"]:
        import termios  # rare

        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    if request["confine"] is not None:
        confine(request["confine"])
    as_before(max(request["numbers"]))
    limit_open_files(request["resources"])  # at last, since descriptors beyond it are put in place before
    os.execve(request["arguments"][0], request["arguments"], request["environment"])  # noqa: S606  (that is the job)


def _above(numbers: list[int], descriptors: list[int]) -> list[int]:
    """Copies of a command's descriptors above their numbers, so that none is overwritten before it has its own."""
    lowest = max(numbers) + 1
    return [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, lowest) for descriptor in descriptors[:-1]]


def _place(numbers: list[int], descriptors: list[int], report: int) -> None:
    """Give each descriptor its number, and close all others but the one to report on."""
    high = _above([*numbers, report], descriptors)
    os.closerange(0, report)
    os.closerange(report + 1, high[0])
    for number, descriptor in zip(numbers, high, strict=True):
        os.dup2(descriptor, number, inheritable=True)
