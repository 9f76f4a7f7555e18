"""The leader of a job: its first process, which is the command or its wrapper."""

from __future__ import annotations

import fcntl
import json
import os
import signal
from typing import TYPE_CHECKING, TypeAlias

from tools_core.linux import forbid_new_privileges, set_dumpable
from tools_shell._supervisor._confine import confine
from tools_shell._supervisor._limits import limit, limit_open_files, restore_open_files_limit
from tools_shell._supervisor._network import enter_network

if TYPE_CHECKING:
    from tools_shell._supervisor._request import Descriptors, Request

# Signals that Python ignores, and that a new program would inherit as ignored.
_SIGNALS = (signal.SIGCHLD, signal.SIGPIPE, signal.SIGINT, signal.SIGXFSZ)
Problem: TypeAlias = tuple[int | None, str]  # errno and message
_ROOM = 8  # numbers for the descriptors that a sandbox adds


def start_leader(request: Request, descriptors: Descriptors) -> tuple[int, Problem | None]:
    """Start the leader; return its PID and None, or 0 and the problem.

    The working folder, the limits and no_new_privs are set in the supervisor itself, for the child to inherit.
    """
    try:
        os.fchdir(descriptors.folder)
        limit(request.resources, request.wrappers)
        if request.confine is None:  # sandboxes set this themselves: a set-uid bwrap needs its rights
            forbid_new_privileges()  # processes of another user could not be signalled
        needs_code = request.terminal or request.resources["open_files"] is not None
        if request.confine is None and not needs_code:
            return _spawn(request, descriptors), None
        return _fork(request, descriptors)
    except OSError as error:
        return 0, (error.errno, str(error))


def _spawn(request: Request, descriptors: Descriptors) -> int:
    """Start with posix_spawn, which is faster than fork but cannot run code in the child."""
    numbers = request.numbers
    high = _above(numbers, descriptors.command)
    restore_open_files_limit(max(high))
    placed = [(os.POSIX_SPAWN_DUP2, descriptor, number) for number, descriptor in zip(numbers, high, strict=True)]
    try:
        return os.posix_spawn(
            request.arguments[0],
            request.arguments,
            request.environment,
            file_actions=placed,
            setsid=True,  # a new session, without a controlling terminal
            setsigdef=_SIGNALS,
        )
    finally:
        for descriptor in high:
            os.close(descriptor)


def _fork(request: Request, descriptors: Descriptors) -> tuple[int, Problem | None]:
    problem, report = os.pipe()
    pid = os.fork()
    if pid == 0:
        report = fcntl.fcntl(report, fcntl.F_DUPFD_CLOEXEC, max(request.numbers) + _ROOM)
        try:
            _execute(request, descriptors, report)
        # Report any exception and exit: this is a forked copy of the supervisor.
        except BaseException as error:  # noqa: BLE001
            description = [getattr(error, "errno", None), f"{type(error).__name__}: {error}"]
            os.write(report, json.dumps(description).encode())
        finally:
            os._exit(127)
    os.close(report)
    with open(problem, "rb", buffering=0) as reported:
        words = reported.readall()  # returns once exec closes the other end
    return pid, json.loads(words) if words else None


def _execute(request: Request, descriptors: Descriptors, report: int) -> None:
    set_dumpable(dumpable=True)  # unlike the supervisor
    os.setsid()  # a new session
    signal.set_wakeup_fd(-1)
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    if descriptors.network:
        enter_network(*descriptors.network)
    _move_descriptors(request.numbers, descriptors.command, report)
    if request.terminal:
        import termios  # rare

        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    if request.confine is not None:
        confine(request.confine)
    restore_open_files_limit(max(request.numbers))
    limit_open_files(request.resources)  # last, because descriptors above the limit are moved first
    os.execve(request.arguments[0], request.arguments, request.environment)  # noqa: S606  (that is the job)


def _above(numbers: list[int], descriptors: list[int]) -> list[int]:
    """Duplicate a command's descriptors above all target numbers, so that none is overwritten too early."""
    lowest = max(numbers) + 1
    return [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, lowest) for descriptor in descriptors]


def _move_descriptors(numbers: list[int], descriptors: list[int], report: int) -> None:
    """Move each descriptor to its number, and close all others but `report`."""
    high = _above([*numbers, report], descriptors)
    os.closerange(0, report)
    os.closerange(report + 1, high[0])
    for number, descriptor in zip(numbers, high, strict=True):
        os.dup2(descriptor, number, inheritable=True)
