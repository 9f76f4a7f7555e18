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
    from collections.abc import Mapping, Sequence

_FIRST_WORD = 30.0  # seconds that starting a program may take on a busy machine
for _CLOSED in socket.socketpair():  # sandboxes that this program may run in refuse socket.socket()
    _CLOSED.close()


class Supervised(Process):
    """See `Process`."""

    def __init__(
        self, request: Mapping[str, Any], descriptors: Sequence[int], *, has_stdin: bool, terminal: bool, merged: bool
    ) -> None:
        """Have a supervisor start a command; `descriptors` are passed to it after those of the streams."""
        self._untold = 0  # signals that are not acknowledged yet
        self._is_started = False
        self._rest = b""  # an incomplete event
        self._is_taken = False  # by a supervisor
        self._control = _CLOSED
        super().__init__(has_stdin=has_stdin, terminal=terminal, merged=merged)
        try:
            self._begin(json.dumps(request).encode(), descriptors)  # JSON escapes surrogates, for undecodable bytes
        except BaseException:  # no caller has it yet
            self._close_all()
            raise
        self.release()
        self._control.setblocking(False)
        self.news = self._control.fileno()

    def _begin(self, request: bytes, descriptors: Sequence[int]) -> None:
        """Start the command; OSError if that fails."""
        for _ in range(2):  # the server may have been killed before the start: try once more with a new one
            if self._is_begun(request, descriptors):
                return
        raise OSError(errno.EAGAIN, "no supervisor could be started")

    def _is_begun(self, request: bytes, descriptors: Sequence[int]) -> bool:
        """Return whether a supervisor has started the command; OSError if the command cannot be started."""
        self._control.close()
        self._control, theirs = socket.socketpair()
        with theirs:
            server.send([theirs.fileno(), *self.theirs, *descriptors])
        self._control.settimeout(_FIRST_WORD)
        with suppress(BrokenPipeError, ConnectionResetError):  # the events will tell
            self._control.sendall(len(request).to_bytes(4, "big") + request)
        while not (self._is_started or self.is_gone):
            if not self._hear() and not self._is_taken:
                return False
        return True

    def take_news(self) -> None:
        """See Process."""
        with suppress(BlockingIOError):  # no events
            self._hear()

    def _hear(self) -> bool:
        """Read events; False at end of file."""
        try:
            chunk = self._control.recv(1 << 16)
        except ConnectionResetError:
            chunk = b""
        # The supervisor was killed; the server kills its job.
        if not chunk and self._is_taken and not self.is_gone:
            self.exit = -signal.SIGKILL if self.exit is None else self.exit
            self.is_gone = True
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            news: dict[str, Any] = json.loads(line)
            if "failed" in news:
                number, text = news["failed"]
                raise OSError(number or errno.EIO, text)
            self._is_taken |= "taken" in news
            self._is_started |= "started" in news
            self.exit = news.get("exit", self.exit)
            self.hit = news.get("hit", self.hit)
            self.is_gone |= "gone" in news
            self._untold -= "told" in news
            self.is_busy = self._untold > 0
        return bool(chunk)

    def interrupt(self) -> None:
        """See Process."""
        self._order(signal.SIGINT)

    def terminate(self) -> None:
        """See Process."""
        self._order(signal.SIGTERM)

    def kill(self) -> None:
        """See Process."""
        self._order(signal.SIGKILL)

    def _order(self, number: int) -> None:
        self._untold += number != signal.SIGKILL
        self.is_busy = self._untold > 0
        with suppress(BrokenPipeError, ConnectionResetError):  # the job has ended, and an event reports it
            self._control.sendall(b"%d\n" % number)

    def close(self) -> None:
        """See Process."""
        with suppress(OSError):  # it may have exited
            self._control.shutdown(socket.SHUT_RDWR)  # the supervisor kills the rest when the socket closes
        self._close_all()

    def held(self) -> set[int]:
        """See Process."""
        return super().held() | ({self._control.fileno()} - {-1})

    def _close_all(self) -> None:
        self._control.close()
        super().close()
