"""The host's connection to the server process that forks supervisors."""

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

import tools_core

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAIN = "import sys; sys.path += sys.argv[1:]; from tools_shell._supervisor._server import main; main()"


def _rights() -> tuple[object, ...]:
    """Return the user and the groups of this process: commands must not keep dropped rights."""
    return os.getresuid(), os.getresgid(), os.getgroups()


class Server:
    """The server process, started on first use, and again if it was killed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: socket.socket | None = None
        self._inode = 0  # of the socket: a daemon that closes all descriptors closes it as well
        self._pid = 0
        self._rights: tuple[object, ...] = ()  # of the server; every job inherits them

    def send(self, descriptors: Sequence[int]) -> None:
        """Pass the descriptors of a job to the server; OSError if it cannot be started."""
        with self._lock:
            if self._requests is None or self._rights != _rights() or not self._is_sent(self._requests, descriptors):
                self.close()
                self._requests = self._start()
                self._inode = os.fstat(self._requests.fileno()).st_ino
                socket.send_fds(self._requests, [b"1"], descriptors)

    def _is_open(self, requests: socket.socket) -> bool:
        with suppress(OSError):  # closed
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
        package = os.path.dirname(os.path.dirname(__file__))
        folders = [os.path.dirname(os.path.abspath(folder)) for folder in (package, *tools_core.__path__)]
        with theirs:
            self._pid = os.posix_spawn(
                sys.executable,
                [sys.executable, "-I", "-S", "-c", _MAIN, *folders],
                {},  # its /proc/PID/environ shows nothing of the host
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, theirs.fileno(), 0),
                    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                ],
                setsid=True,  # Ctrl-C is for the host alone
                setsigmask=(),  # commands must not inherit ignored or blocked signals
                setsigdef=signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP},
            )
        self._rights = _rights()
        return ours

    def close(self) -> None:
        """Close the connection; the server ends with its last job."""
        requests, self._requests = self._requests, None
        if requests is not None:
            if not self._is_open(requests):
                requests.detach()  # its number may belong to another file now
            requests.close()
            with suppress(OSError):  # it still runs, or is not a child of this process
                os.waitpid(self._pid, os.WNOHANG)

    def leave(self) -> None:
        """Disconnect in a fork of the host, which starts its own server."""
        self._lock = threading.Lock()
        self.close()


server = Server()
atexit.register(server.close)
os.register_at_fork(after_in_child=server.leave)
