"""Commands under a supervisor: a process that ends all their descendants, even if the host dies."""

from __future__ import annotations

import errno
import json
import signal
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tools_shell._process._process import Process
from tools_shell._process._server import server

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_shell._supervisor._request import Request

_START_LIMIT = 30.0  # seconds that starting a program may take on a busy machine
for _CLOSED in socket.socketpair():  # sandboxes that this program may run in refuse socket.socket()
    _CLOSED.close()


class Supervised(Process):
    """See `Process`."""

    def __init__(self, request: Request, descriptors: Sequence[int], *, has_stdin: bool, terminal: bool) -> None:
        """Have a supervisor start a command; `descriptors` follow the descriptors of the streams."""
        self.network: object = None  # kept as long as the command runs
        self._unacknowledged = 0  # signals that are not acknowledged yet
        self._is_started = False
        self._rest = b""  # an incomplete event
        self._is_accepted = False  # by a supervisor
        self._control = _CLOSED
        super().__init__(has_stdin=has_stdin, terminal=terminal)
        try:
            self._start(request.encode(), descriptors)
        except BaseException:  # no caller has it yet
            self.close()
            raise
        self.release()
        self._control.setblocking(False)
        self.events = self._control.fileno()

    def _start(self, request: bytes, descriptors: Sequence[int]) -> None:
        """Start the command; OSError if that fails."""
        for _ in range(2):  # the server may have been killed before the start: try again with a new one
            if self._try_to_start(request, descriptors):
                return
        raise OSError(errno.EAGAIN, "no supervisor could be started")

    def _try_to_start(self, request: bytes, descriptors: Sequence[int]) -> bool:
        """Return whether a supervisor has started the command; OSError if the command cannot be started."""
        self._control.close()
        self._control, theirs = socket.socketpair()
        with theirs:
            server.send([theirs.fileno(), *self.child_ends, *descriptors])
        self._control.settimeout(_START_LIMIT)
        with suppress(BrokenPipeError, ConnectionResetError):  # the events will tell
            self._control.sendall(request)
        while not (self._is_started or self.is_gone):
            if not self._read_events() and not self._is_accepted:
                return False
        return True

    def read_events(self) -> None:
        """See Process."""
        with suppress(BlockingIOError):  # no events
            self._read_events()

    def _read_events(self) -> bool:
        """Read events; False at end of file."""
        try:
            chunk = self._control.recv(1 << 16)
        except ConnectionResetError:
            chunk = b""
        # The supervisor was killed; the server kills its job.
        if not chunk and self._is_accepted and not self.is_gone:
            self.exit = -signal.SIGKILL if self.exit is None else self.exit
            self.is_gone = True
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            event: dict[str, Any] = json.loads(line)
            if "failed" in event:
                number, text = event["failed"]
                raise OSError(number or errno.EIO, text)
            self._is_accepted |= "accepted" in event
            self._is_started |= "started" in event
            self.exit = event.get("exit", self.exit)
            self.exceeded = event.get("exceeded", self.exceeded)
            self.is_gone |= "gone" in event
            self._unacknowledged -= "signalled" in event
            self.is_busy = self._unacknowledged > 0
        return bool(chunk)

    def interrupt(self) -> None:
        """See Process."""
        self._send(signal.SIGINT)

    def terminate(self) -> None:
        """See Process."""
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        """See Process."""
        self._send(signal.SIGKILL)

    def _send(self, number: int) -> None:
        self._unacknowledged += number != signal.SIGKILL
        self.is_busy = self._unacknowledged > 0
        with suppress(BrokenPipeError, ConnectionResetError):  # the job has ended, and an event reports it
            self._control.sendall(b"%d\n" % number)

    def host_ends(self) -> set[int]:
        """See Process."""
        return super().host_ends() | ({self._control.fileno()} - {-1})

    def _end(self) -> None:
        with suppress(OSError):  # it may have exited
            self._control.shutdown(socket.SHUT_RDWR)  # the supervisor kills the rest when the socket closes
        self._control.close()
        self.network = None
