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
        self._rights: tuple[object, ...] = ()  # those that it was started with, and hands on to every job

    def send(self, descriptors: Sequence[int]) -> None:
        """Hand over the descriptors of a job; OSError when there is no server to be had."""
        with self._lock:
            if self._requests is None or self._rights != _rights() or not self._is_sent(self._requests, descriptors):
                self.close()
                self._requests = self._start()
                self._inode = os.fstat(self._requests.fileno()).st_ino
                socket.send_fds(self._requests, [b"1"], descriptors)

    def _is_open(self, requests: socket.socket) -> bool:
        with suppress(OSError):  # the number is free
            return os.fstat(requests.fileno()).st_ino == self._inode
        return False

    def _is_sent(self, requests: socket.socket, descriptors: Sequence[int]) -> bool:
        if not self._is_open(requests):
            return False
        try:
            socket.send_fds(requests, [b"1"], descriptors)
        except OSError as error:
            if error.errno not in {errno.EPIPE, errno.ECONNRESET, errno.ECONNREFUSED, errno.ENOTCONN}:
                raise
            return False
        return True

    def _start(self) -> socket.socket:
        if not sys.executable:
            raise OSError("no Python executable is known to run the supervisor with")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        with theirs:
            self._pid = os.posix_spawn(
                sys.executable,
                [sys.executable, "-I", "-S", "-c", _MAIN, folder],
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
        self._rights = _rights()
        return ours

    def close(self) -> None:
        """Let it end as soon as its last job has."""
        requests, self._requests = self._requests, None
        if requests is not None:
            if not self._is_open(requests):
                requests.detach()  # its number may be another file's now
            requests.close()
            with suppress(OSError):  # it goes on, or is another's child
                os.waitpid(self._pid, os.WNOHANG)

    def leave(self) -> None:
        """Forget it in a fork of this process, which starts its own."""
        self._lock = threading.Lock()
        self.close()


server = Server()
atexit.register(server.close)
os.register_at_fork(after_in_child=server.leave)
