"""Commands at level "none": child processes that are killed by process group."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from tools_shell._process._process import Process, starting

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TIMEOUT = 1.0  # seconds to wait for killed processes
_BECOME = """
import _signal, fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
for number in (_signal.SIGPIPE, _signal.SIGXFSZ):  # which Python ignores, and a program would go on ignoring
    _signal.signal(number, _signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""
_ON_TERMINAL = (sys.executable, "-I", "-S", "-c", _BECOME)


class Direct(Process):
    """A child process. Descendants that leave its process group survive it, and nothing ends it with the host."""

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        workdir: str,
        extra: Sequence[int],
        *,
        has_stdin: bool,
        terminal: bool,
    ) -> None:
        """Start a command; `extra` are descriptors that it inherits."""
        self._is_terminating = False
        self._process: subprocess.Popen[bytes] | None = None
        self.events = -1
        # Any: type checkers for Windows do not accept bytes as variables.
        variables: dict[Any, Any] = {_as_utf8(name): _as_utf8(value) for name, value in environment.items()}
        super().__init__(has_stdin=has_stdin, terminal=terminal)
        # In a thread, where no signal handler runs: an exception, such as a Ctrl-C, between the start of the process
        # and the assignment would leave a process that nothing ends.
        words = list(map(_as_utf8, [*(_ON_TERMINAL if terminal else ()), *arguments]))
        started: Future[None] = Future()
        try:
            threading.Thread(target=self._start, args=(started, words, variables, workdir, extra)).start()
            started.result()
        except RuntimeError as error:  # too many threads
            self.close()
            raise OSError(errno.EAGAIN, str(error)) from error
        except BaseException:
            self.close()
            raise
        self.release()

    def _start(
        self,
        started: Future[None],
        arguments: Sequence[bytes],
        variables: Mapping[Any, Any],
        workdir: str,
        extra: Sequence[int],
    ) -> None:
        try:
            with starting:
                if self.is_closing:  # a Ctrl-C came first
                    return
                self._process = subprocess.Popen(
                    arguments,
                    stdin=self.child_ends[0],
                    stdout=self.child_ends[1],
                    stderr=self.child_ends[2],
                    cwd=workdir,
                    env=variables,
                    start_new_session=True,  # one signal reaches the whole group, and there is no controlling terminal
                    pass_fds=extra,
                )
                self.events = _end_of(self._process.pid)
        except Exception as error:  # noqa: BLE001  (raised in the caller's thread)
            started.set_exception(error)
        else:  # without `starting`: the caller, who has the lock of `started`, may need it to close a lost process
            started.set_result(None)

    def read_events(self) -> None:
        """See Process."""
        if self._process is None:
            return
        with contextlib.suppress(ChildProcessError):  # the host ignores SIGCHLD or waits for all children
            self.exit = os.waitstatus_to_exitcode(os.waitpid(self._process.pid, 0)[1])
        self._process.returncode = self.exit or 0
        if self._is_terminating:  # no need to wait for the rest of the grace period
            self.kill()
        self.is_gone = True

    def interrupt(self) -> None:
        """See Process."""
        self._signal(signal.SIGINT)
        self._signal(signal.SIGCONT)  # a stopped process could not handle it

    def terminate(self) -> None:
        """See Process."""
        self._is_terminating = True
        self._signal(signal.SIGTERM)
        self._signal(signal.SIGCONT)  # a stopped process could not handle it

    def kill(self) -> None:
        """See Process."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):  # it has exited, or is another user's
                os.killpg(self._process.pid, number)

    def _end(self) -> None:
        self.kill()
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):  # it hangs in the kernel
                self._process.wait(_TIMEOUT)
        events, self.events = self.events, -1
        if events >= 0:
            os.close(events)


def _as_utf8(text: str) -> bytes:
    """Encode an argument or variable in UTF-8, whatever the locale, as supervisors do."""
    return text.encode("utf-8", "surrogateescape")


def _end_of(pid: int) -> int:
    """Return a descriptor that becomes readable when a process exits."""
    if hasattr(os, "pidfd_open"):  # Linux
        try:
            return os.pidfd_open(pid)
        except ProcessLookupError:  # it was reaped elsewhere: a closed pipe is readable, too
            end, other = os.pipe()
            os.close(other)
            return end
    system: Any = select  # kqueue exists on macOS
    with contextlib.closing(system.kqueue()) as queue:
        queue.control([system.kevent(pid, system.KQ_FILTER_PROC, system.KQ_EV_ADD, system.KQ_NOTE_EXIT)], 0)
        return os.dup(queue.fileno())
