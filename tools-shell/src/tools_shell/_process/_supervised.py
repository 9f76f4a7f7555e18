"""Commands under a supervisor: a process of their own that ends all that comes of them, even after us."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tools_shell._process._process import Process
from tools_shell._process._server import server

if TYPE_CHECKING:
    from tools_shell._process._process import Launch

_FIRST_WORD = 30.0  # seconds that a busy machine may take to start a program
_CLOSED = socket.socket()
_CLOSED.close()


class Supervised(Process):
    """See `Process`."""

    def __init__(self, command: Launch) -> None:
        self._untold = 0  # orders whose signals may not have been sent yet
        self._is_started = False
        self._rest = b""  # of the news: the beginning of a line
        self._is_taken = False  # by a supervisor
        self._temporary = command.temporary
        self._control = _CLOSED
        super().__init__(has_stdin=command.has_stdin, terminal=command.terminal, merged=command.merged)
        try:
            self._begin(command)
        except BaseException:  # no caller can close it
            self._close_all()
            raise
        self.release()
        self._control.setblocking(False)
        self.news = self._control.fileno()

    def _begin(self, command: Launch) -> None:
        """Have the command started; OSError when it cannot be."""
        for _ in range(2):  # the server may have been killed before anything has begun: then the next one is new
            if self._is_begun(command):
                return
        raise OSError(errno.EAGAIN, "no supervisor could be started")

    def _is_begun(self, command: Launch) -> bool:
        """Return whether a supervisor has begun with the command; OSError when that cannot be started."""
        self._control.close()
        self._control, theirs = socket.socketpair()
        with theirs:
            server.send([theirs.fileno(), *self.theirs, *command.extra, *command.guarding, command.directory])
        self._control.settimeout(_FIRST_WORD)
        with suppress(BrokenPipeError, ConnectionResetError):  # what is heard then says how far it has come
            self._control.sendall(self._request(command))
        while not (self._is_started or self.is_gone):
            if not self._hear() and not self._is_taken:
                return False
        return True

    def _request(self, command: Launch) -> bytes:
        request = {
            "host": os.getpid(),
            "arguments": command.arguments,
            "environment": command.environment,
            "numbers": [0, 1, 2, *command.extra, *command.numbers],
            "placeholders": command.placeholders,
            "terminal": command.terminal and command.takes_terminal,
            "resources": asdict(command.resources),
            "confine": command.policy,
            "temporary": self._temporary,  # which the supervisor removes, since it may outlive us
            "wrappers": command.wrappers,
        }
        data = json.dumps(request).encode()  # undecodable bytes in paths are surrogates, which JSON escapes
        return len(data).to_bytes(4, "big") + data

    def take_news(self) -> None:
        """See Process."""
        with suppress(BlockingIOError):  # there are none
            self._hear()

    def _hear(self) -> bool:
        """Take news; False at their end."""
        try:
            chunk = self._control.recv(1 << 16)
        except ConnectionResetError:
            chunk = b""
        # Then the supervisor was killed, and the server ends its job.
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
        with suppress(BrokenPipeError, ConnectionResetError):  # all has ended: the news will say so
            self._control.sendall(b"%d\n" % number)

    def close(self) -> None:
        """See Process."""
        with suppress(OSError):  # it may have ended
            self._control.shutdown(socket.SHUT_RDWR)  # the lifeline: at its end the supervisor ends what is left
        self._close_all()

    def held(self) -> set[int]:
        """See Process."""
        return super().held() | ({self._control.fileno()} - {-1})

    def _close_all(self) -> None:
        self._control.close()
        super().close()
        if self._temporary and not self._is_taken:
            with suppress(OSError):  # it was taken after all, and the news came too late
                os.rmdir(self._temporary)
