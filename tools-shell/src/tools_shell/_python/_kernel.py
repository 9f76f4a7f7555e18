"""`Kernel`: a Python process that runs pieces of code, seen from this side."""

from __future__ import annotations

import functools
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tools_core import Image
from tools_shell._output._text import encoded
from tools_shell._process._pump import Pump
from tools_shell._process._run import DRAIN, GRACE, KILL, SLICE, Ended, conclude, settle, wait_for_end
from tools_shell._report import exit_of
from tools_shell._sandbox._start import start

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tools_shell._output._output import Output
    from tools_shell._sandbox._command import Command

_LARGEST = 64 << 20  # bytes of a reply
# Nothing is imported from the workspace before the code itself runs; -P is for what Python 3.13 imports on its own.
_BOOT = "import sys; sys.path[:] = filter(None, sys.path); exec(compile(sys.argv.pop(), 'kernel', 'exec'))"
_SIGNATURES = {b"p": b"\x89PNG\r\n\x1a\n", b"j": b"\xff\xd8\xff"}


class Reply(NamedTuple):
    """The outcome of a piece of code."""

    value: str | None = None
    error: dict[str, str] | None = None  # type, message and traceback of what was raised
    exit_code: int | None = None  # of a SystemExit
    images: Sequence[Image] = ()
    notes: Sequence[str] = ()


class Kernel:
    """One thread at a time. A kernel that does not answer is `lost`, which says why, and has been ended."""

    def __init__(self, command: Command, stdin: bytes = b"") -> None:
        self.isolation = command.isolation
        self.lost: str | None = None
        self._output: Output | None = None
        self._heard = bytearray()
        self._channel, theirs = socket.socketpair()
        number = theirs.detach()  # `start` closes it
        options = ["-s", "-P", "-X", "utf8", "-X", "faulthandler", "-c", _BOOT, str(number), _program()]
        try:
            self.process = start(command._replace(arguments=[*command.arguments, *options], extra=[number]))
        except BaseException:
            self._channel.close()
            raise
        self._channel.setblocking(False)
        channel = {self._channel.fileno(): self._hear}
        self._pump = Pump(self.process, self._add_stdout, self._add_stderr, stdin, more=channel)

    def is_alive(self) -> bool:
        if self.lost is None:
            self._pump.step(0)
            if self.process.exit is not None:
                self.end(self._how_it_ended())
        return self.lost is None

    def run(self, code: str, output: Output, limit: float, cancelled: Callable[[], bool]) -> tuple[Ended, Reply | None]:
        """Run `code` in this session; at its limit it is interrupted, and without an answer the kernel is ended."""
        started = time.monotonic()
        reply, reason = self._ask(b"0", code, output, started + limit, cancelled)
        duration = time.monotonic() - started
        if reply is None:
            self.end("it could not be interrupted" if reason else self._how_it_ended())
        else:
            settle_output(self._pump)
        output.finish()
        reason = self.process.hit or reason
        is_gone = reply is not None or self.process.is_gone
        return Ended(None if reply else self.process.exit, reason, False, is_gone, duration), reply

    def run_once(
        self, code: str, output: Output, limit: float, cancelled: Callable[[], bool]
    ) -> tuple[Ended, Reply | None]:
        """Run `code`, and wait for the end of the process with its threads and what it has registered with `atexit`."""
        started = time.monotonic()
        until = started + limit
        reply, reason = self._ask(b"1", code, output, until, cancelled)
        left = GRACE if reason else max(until - time.monotonic(), 0)
        try:
            stopped = wait_for_end(
                self.process,
                self._pump,
                time.monotonic() + left,
                min(GRACE, limit / 2),
                cancelled if not reason else _no,
            )
            duration = time.monotonic() - started
            return conclude(self.process, self._pump, reason or stopped, duration), reply
        finally:
            output.finish()
            self.lost = "it has ended"
            self._close()

    def _ask(
        self, kind: bytes, code: str, output: Output, until: float, cancelled: Callable[[], bool]
    ) -> tuple[Reply | None, str | None]:
        """Have `code` run; returns the reply, and why it was interrupted."""
        self._output = output
        self._heard.clear()
        data = kind + encoded(code.removeprefix("\ufeff"))
        try:
            with suppress(OSError):  # it has ended, and will not answer
                self._channel.settimeout(max(until - time.monotonic(), 0.01))
                self._channel.sendall(len(data).to_bytes(4, "big") + data)
            self._channel.setblocking(False)
            reply = self._wait(until, cancelled)
            if reply is not None or self.process.exit is not None:
                return reply, None
            reason = "cancelled" if cancelled() else "limit"
            self.process.interrupt()
            reply = self._wait(time.monotonic() + GRACE, _no)
            patience = time.monotonic() + GRACE
            while self.process.is_busy and time.monotonic() < patience:
                self._pump.step(SLICE)  # until the interrupt has arrived: it must not hit the next piece of code
        except BaseException:  # the caller was interrupted
            self.end("the call was interrupted")
            raise
        return reply, reason

    def _wait(self, until: float, cancelled: Callable[[], bool]) -> Reply | None:
        while (reply := _parsed(self._heard)) is None and self.process.exit is None:
            left = until - time.monotonic()
            if left <= 0 or cancelled() or len(self._heard) > _LARGEST:
                return None
            self._pump.step(min(left, SLICE))
        if reply is None:
            settle(self.process, self._pump, DRAIN)  # its last words
            reply = _parsed(self._heard)
        return reply

    def end(self, why: str) -> None:
        """End it, with everything that it started."""
        if self.lost is not None:
            return
        self.lost = why
        self.process.kill()
        settle(self.process, self._pump, KILL)
        self._close()

    def _close(self) -> None:
        self.process.close()
        self._channel.close()

    def _how_it_ended(self) -> str:
        if self.process.hit is not None:
            return self.process.hit
        found = exit_of(self.process.exit, self.isolation.level)
        return found.get("signal") or f"exit code {self.process.exit}"

    def _hear(self, chunk: bytes) -> None:
        self._heard += chunk

    def _add_stdout(self, chunk: bytes) -> None:
        if self._output is not None:
            self._output.add_stdout(chunk)

    def _add_stderr(self, chunk: bytes) -> None:
        if self._output is not None:
            self._output.add_stderr(chunk)


def settle_output(pump: Pump) -> None:
    """Take the output that was written before the reply, and a bounded part of what threads go on writing."""
    for _ in range(17):  # a pipe may hold a megabyte
        if not pump.step(0):
            return


def _no() -> bool:
    return False


@functools.cache
def _program() -> str:
    return Path(__file__).with_name("_inside.py").read_text("utf-8")


def _parsed(data: bytearray) -> Reply | None:
    """Return the reply when it is complete; one that is malformed is an empty reply."""
    if len(data) < 4 or len(data) < (end := 4 + int.from_bytes(data[:4], "big")):
        return None
    facts: dict[bytes, str] = {}
    images: list[Image] = []
    notes: list[str] = []
    at = 4
    while at + 5 <= end:
        letter, size = bytes(data[at : at + 1]), int.from_bytes(data[at + 1 : at + 5], "big")
        value = bytes(data[at + 5 : min(at + 5 + size, end)])
        at += 5 + size
        if letter == b"n":
            notes.append(value.decode(errors="replace"))
        elif letter not in _SIGNATURES:
            facts[letter] = value.decode(errors="replace")
        elif value.startswith(_SIGNATURES[letter]):
            images.append(Image(value))
    names = {b"t": "type", b"m": "message", b"b": "traceback"}
    error = {name: facts.get(letter, "") for letter, name in names.items()} if b"t" in facts else None
    exit_code = int(facts[b"x"]) if facts.get(b"x", "").isdigit() else None
    return Reply(facts.get(b"v"), error, exit_code, images, notes)
