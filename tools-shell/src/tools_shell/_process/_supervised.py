"""Commands under a supervisor: a process of their own that ends all that comes of them, even after us."""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import socket
import time
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tools_shell._process._server import server
from tools_shell._process._streams import Streams
from tools_shell._process._survivors import end_marked, marked
from tools_shell._supervisor._descendants import descendants, is_zombie, kill, send_if, stat

if TYPE_CHECKING:
    from tools_shell._process._launch import Launch

_FIRST_WORD = 30.0  # seconds that a busy machine may take to start a program
_SLICE = 0.1  # seconds of that between two looks at why there is none yet
_ROUNDS, _ROUND = 100, 0.005  # of killing, and the seconds for what was killed to disappear


class _NotTaken(OSError):
    """No supervisor has begun with the job."""


class Supervised(Streams):
    """See `Process`."""

    def __init__(self, command: Launch) -> None:
        self.exit: int | None = None
        self.is_gone = False
        self.hit: str | None = None
        self._untold = 0  # orders whose signals may not have been sent yet
        self._is_taken = self._is_started = False
        self._rest = b""  # of the news: the beginning of a line
        self._supervisor = 0
        self._is_ordered = False  # to kill all
        self._temporary = command.temporary
        super().__init__(has_stdin=command.has_stdin, terminal=command.terminal, merged=command.merged)
        try:
            request = self._request(command)
            descriptors = [*self.theirs, *command.extra, *command.guarding, command.directory]
            try:
                self._ask(request, descriptors)
            except _NotTaken:  # the server was killed before anything has begun: the next one is new
                self._ask(request, descriptors)
        except BaseException:  # no caller can close it
            self._close_rest()
            raise
        self.release()
        self._control.setblocking(False)
        self.news = self._control.fileno()

    def _ask(self, request: bytes, descriptors: list[int]) -> None:
        self._control, theirs = socket.socketpair()
        self._control.settimeout(_FIRST_WORD)
        self._rest = b""
        try:
            with theirs:
                server.send([theirs.fileno(), *descriptors], self._temporary)
            with suppress(BrokenPipeError, ConnectionResetError):  # what is heard then says how far it has come
                self._control.sendall(request)
            self._await_start()
        except BaseException:  # the lifeline: without it the job is ended
            self._control.close()
            raise

    def _await_start(self) -> None:
        """Hear that the command runs, or what became of it; OSError when it cannot be started."""
        until = time.monotonic() + _FIRST_WORD
        self._control.settimeout(_SLICE)
        while not (self._is_started or self.is_gone):
            try:
                self._hear()
            except TimeoutError:
                # None but the command stops its supervisor, and maybe before that has told that the command runs.
                self._is_started = stat(self._supervisor)[:1] == [b"T"]
                if not self._is_started and time.monotonic() > until:
                    raise
                server.wake()  # the command of another job may have stopped that

    def _request(self, command: Launch) -> bytes:
        self._mark, environment = marked(command.environment)
        request = {
            "host": os.getpid(),
            "arguments": command.arguments,
            "environment": environment,
            "numbers": [0, 1, 2, *command.extra, *command.numbers],
            "placeholders": command.placeholders,
            "terminal": command.terminal and command.takes_terminal,
            "resources": asdict(command.resources),
            "confine": command.policy,
            "temporary": self._temporary,  # which it removes, since it may outlive us, or else the server does
            "wrappers": command.wrappers,
        }
        data = json.dumps(request).encode()  # undecodable bytes in paths are surrogates, which JSON escapes
        return len(data).to_bytes(4, "big") + data

    def take_news(self) -> None:
        """See Process."""
        with suppress(BlockingIOError):  # there are none
            self._hear()

    def _hear(self) -> None:
        try:
            chunk = self._control.recv(1 << 16)
        except ConnectionResetError:
            chunk = b""
        if not chunk and not self._is_taken:
            raise _NotTaken(errno.EPIPE, "the server of supervisors has ended")
        if not chunk and not self.is_gone:
            # The supervisor was killed, perhaps even before it could report that the command runs; the server ends
            # its job, unless it was killed, too.
            server.wake()
            end_marked(self._mark)
            self.exit = -signal.SIGKILL if self.exit is None else self.exit
            self.is_gone = True
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            news: dict[str, Any] = json.loads(line)
            if "failed" in news:
                number, text = news["failed"]
                raise OSError(number or errno.EIO, text)
            self._supervisor = news.get("taken", self._supervisor)
            self._is_taken |= "taken" in news
            self._is_started |= "started" in news
            self.exit = news.get("exit", self.exit)
            self.hit = news.get("hit", self.hit)
            self.is_gone |= "gone" in news
            self._untold -= "told" in news

    @property
    def is_busy(self) -> bool:
        """See Process."""
        return self._untold > 0

    def interrupt(self) -> None:
        """See Process."""
        self._order(signal.SIGINT)

    def terminate(self) -> None:
        """See Process."""
        self._order(signal.SIGTERM)

    def kill(self) -> None:
        """See Process."""
        if self._is_ordered and not self.is_gone:
            self._kill_ourselves()
        self._is_ordered = True
        self._order(signal.SIGKILL)

    def _kill_ourselves(self) -> None:
        """Do the work of a supervisor that does not: one that shares our user with the job may be stopped by it."""
        for _ in range(_ROUNDS):
            left = descendants(self._supervisor) if self._wake() else {}
            if all(map(is_zombie, left)):  # it takes these as soon as it runs
                return
            kill(left, left, self._supervisor)
            time.sleep(_ROUND)

    def _wake(self) -> bool:
        """Let a supervisor that was stopped go on; False when it has ended, so that its number may be another's."""
        return send_if(lambda _: not self._is_left(), self._supervisor, signal.SIGCONT)

    def _is_left(self) -> bool:
        """Return whether the supervisor has closed its end."""
        poll = select.poll()
        poll.register(self._control, 0)
        return bool(poll.poll(0))

    def _order(self, number: int) -> None:
        self._wake()
        self._untold += number != signal.SIGKILL
        with suppress(BrokenPipeError, ConnectionResetError):  # all has ended: the news will say so
            self._control.sendall(b"%d\n" % number)

    def close(self) -> None:
        """See Process."""
        if self._is_ordered and not self.is_gone:
            self._kill_ourselves()
        with suppress(OSError):  # it may have ended
            self._control.shutdown(socket.SHUT_RDWR)  # the lifeline: at its end the supervisor ends what is left
        self._control.close()
        self._close_rest()

    def held(self) -> set[int]:
        """See Streams."""
        control: socket.socket | None = self.__dict__.get("_control")  # not there yet in the very beginning
        return super().held() | ({control.fileno()} if control is not None and control.fileno() >= 0 else set())

    def _close_rest(self) -> None:
        super().close()
        if self._temporary and not self._is_taken:
            with suppress(OSError):  # it was taken after all, and the news came too late
                os.rmdir(self._temporary)
