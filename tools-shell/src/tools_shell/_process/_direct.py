"""Commands at level none: children of this process, whose group is ended with them, and whose mark is looked for."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from tools_shell._process._process import Process, starting
from tools_shell._supervisor._descendants import send_if

if TYPE_CHECKING:
    from tools_shell._process._process import Launch

_MARK = "ASK_TOOLS_JOB"  # a variable by which those are found that have left the process group
_ROUNDS = 60  # one that forks while it is looked for is found in a later round
_PATIENCE = 1.0  # seconds for what was killed to be gone
_BECOME = """
import _signal, fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
for number in (_signal.SIGPIPE, _signal.SIGXFSZ):  # which Python ignores, and a program would go on ignoring
    _signal.signal(number, _signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""
_ON_TERMINAL = (sys.executable, "-I", "-S", "-c", _BECOME)


class Direct(Process):
    """See `Process`. What left the group and emptied its environment is not ended, nor is anything if we are killed."""

    def __init__(self, command: Launch) -> None:
        self._was_told = False  # to end
        value = os.urandom(8).hex()
        self._mark, environment = f"{_MARK}={value}".encode(), {**command.environment, _MARK: value}
        arguments = [*(_ON_TERMINAL if command.terminal else ()), *command.arguments]
        # Bytes are no variables for Windows, where nothing comes here, and so not for every type checker.
        variables: dict[Any, Any] = {_as_utf8(name): _as_utf8(value) for name, value in environment.items()}
        super().__init__(has_stdin=command.has_stdin, terminal=command.terminal, merged=command.merged)
        try:
            with starting:
                self._process = subprocess.Popen(
                    list(map(_as_utf8, arguments)),
                    stdin=self.theirs[0],
                    stdout=self.theirs[1],
                    stderr=self.theirs[2],
                    cwd=command.workdir,
                    env=variables,
                    start_new_session=True,  # one signal reaches all that it starts; no terminal is in reach
                    pass_fds=command.extra,
                )
            self.news = _end_of(self._process.pid)
        except BaseException:  # a Ctrl-C, say, may come when it runs already and is not known here yet
            self._end_marked()
            super().close()
            raise
        self.release()

    def take_news(self) -> None:
        """See Process."""
        try:
            self.exit = self._status()
        except ChildProcessError:  # this program ignores SIGCHLD, or waits for all children: the status is lost
            self._process.wait()  # and the number of the group may be another's
        if self._was_told:  # the rest of the grace is not needed
            self.kill()
        self.is_gone = True

    def _status(self) -> int:
        if not hasattr(os, "waitid"):  # before Python 3.13 on macOS
            self._signal(signal.SIGKILL)
            return self._process.wait()
        # Not waited for yet: so long the number of its group is not used again.
        ended: Any = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)  # None only with WNOHANG
        return int(ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status)

    def interrupt(self) -> None:
        """See Process."""
        self._signal(signal.SIGINT)
        self._signal(signal.SIGCONT)  # a stopped process cannot handle it

    def terminate(self) -> None:
        """See Process."""
        self._was_told = True
        self._signal(signal.SIGTERM)
        self._signal(signal.SIGCONT)  # a stopped process cannot handle it

    def kill(self) -> None:
        """See Process."""
        self._signal(signal.SIGKILL)
        self._end_marked()

    def _end_marked(self) -> None:
        """Kill every process that began with the mark in its environment, where there is /proc.

        It finds a child that began a session or was adopted by init.
        """
        for _ in range(_ROUNDS):
            found = [pid for pid in _processes() if self._is_marked(pid)]
            for pid in found:
                send_if(self._is_marked, pid, signal.SIGKILL)
            if not found:
                return

    def _is_marked(self, pid: int) -> bool:
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                return self._mark in file.read().split(b"\0")
        except OSError:  # it has ended, or is another user's
            return False

    def _signal(self, number: int) -> None:
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):  # it has ended, or is another user's
                os.killpg(self._process.pid, number)

    def close(self) -> None:
        """See Process."""
        if self.exit is None:
            self.kill()
        self._signal(signal.SIGKILL)
        if self._process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):  # it hangs inside the kernel, and must not hang us too
                self._process.wait(_PATIENCE)
        os.close(self.news)
        super().close()


def _processes() -> list[int]:
    """Return all of them, the newest first: it is they who go on to fork."""
    try:
        return sorted((int(name) for name in os.listdir("/proc") if name.isdigit()), reverse=True)
    except OSError:
        return []


def _as_utf8(text: str) -> bytes:
    """An argument or a variable, as supervisors hand it on: the locale here may know only a part of the characters."""
    return text.encode("utf-8", "surrogateescape")


def _end_of(pid: int) -> int:
    """Return a descriptor that is readable when a process has ended."""
    if hasattr(os, "pidfd_open"):  # Linux
        try:
            return os.pidfd_open(pid)
        except ProcessLookupError:  # it has ended, and its status was read elsewhere: a closed pipe reads the same
            end, other = os.pipe()
            os.close(other)
            return end
    system: Any = select  # which has these on macOS
    with contextlib.closing(system.kqueue()) as queue:
        queue.control([system.kevent(pid, system.KQ_FILTER_PROC, system.KQ_EV_ADD, system.KQ_NOTE_EXIT)], 0)
        return os.dup(queue.fileno())
