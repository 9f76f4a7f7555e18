"""Our side of the process that forks the supervisors."""

from __future__ import annotations

import atexit
import errno
import os
import signal
import socket
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAIN = "import sys; sys.path.append(sys.argv[1]); from tools_shell._supervisor._server import main; main()"


def _interpreter() -> str:
    """The Python that runs us; OSError where there is none to be run again, as in an embedded one."""
    if not sys.executable:
        raise OSError("no Python executable is known to run the supervisor with")
    return sys.executable


def _import_folder() -> str:
    """Where another Python finds this package."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def _rights() -> tuple[object, ...]:
    """The user and the groups of this process: what it gives up, its commands must not have either."""
    return os.getresuid(), os.getresgid(), os.getgroups()


class Server:
    """The process that forks the supervisors, started when it is first wanted, and again if it was killed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: socket.socket | None = None
        self._inode = 0  # of that: a host that closes all its descriptors, as daemons do, closes it, too
        self._pid = 0
        self._owner = 0  # the process that started it: a fork of that uses it, too, but is not its parent
        self._rights: tuple[object, ...] = ()  # those that it was started with, and hands on to every job

    def send(self, descriptors: Sequence[int], temporary: str) -> None:
        """Hand over the descriptors of a job, and its folder; OSError when there is no server to be had."""
        message = b"1" + os.fsencode(temporary)  # an empty one would be the end
        with self._lock:
            if self._requests is not None and not self._is_sent(self._requests, message, descriptors):
                self._forget()
            if self._requests is None:
                self._requests = self._start()
                self._inode = os.fstat(self._requests.fileno()).st_ino
                socket.send_fds(self._requests, [message], descriptors)
            self.wake()

    def _is_sent(self, requests: socket.socket, message: bytes, descriptors: Sequence[int]) -> bool:
        """Hand them over; False when there is no process to take them."""
        if self._is_lost(requests) or self._rights != _rights():
            self._pid = 0  # it ends with its last job, which is not waited for
            return False
        try:
            socket.send_fds(requests, [message], descriptors)
        except OSError as error:
            if error.errno not in {errno.EPIPE, errno.ECONNRESET, errno.ECONNREFUSED, errno.ENOTCONN}:
                raise
            return False
        return True

    def _is_lost(self, requests: socket.socket) -> bool:
        """Return whether the host has closed it; then its number, which may be another's now, is released."""
        with suppress(OSError):  # the number is free
            if os.fstat(requests.fileno()).st_ino == self._inode:
                return False
        requests.detach()
        return True

    def wake(self) -> None:
        """Let it go on if it was stopped, which a job of the same user may do."""
        if self._pid and self._owner == os.getpid():
            with suppress(OSError):  # it has ended
                os.kill(self._pid, signal.SIGCONT)

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        python = _interpreter()
        with theirs:
            self._pid = os.posix_spawn(
                python,
                [python, "-I", "-S", "-c", _MAIN, _import_folder()],
                {},  # nothing of ours can be read in its /proc/PID/environ
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, theirs.fileno(), 0),
                    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                ],
                setsid=True,  # a Ctrl-C is for us, who will tell it what to do
                setsigmask=(),  # what we ignore or block would be so in all commands
                setsigdef=signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP},
            )
        self._owner, self._rights = os.getpid(), _rights()
        return ours

    def close(self) -> None:
        """Let it end as soon as its last job has."""
        if self._requests is not None and not self._is_lost(self._requests):
            self._requests.close()

    def _forget(self) -> None:
        if self._requests is not None:
            self._requests.close()
            self._requests = None
        if self._pid and self._owner == os.getpid():
            self.wake()
            with suppress(ChildProcessError):  # another part of the program has waited for it
                os.waitpid(self._pid, 0)
        self._pid = 0

    def renew_lock(self) -> None:
        """In a fork, which may have copied it locked, while the thread that would unlock it is not there."""
        self._lock = threading.Lock()


server = Server()
atexit.register(server.close)
os.register_at_fork(after_in_child=server.renew_lock)
