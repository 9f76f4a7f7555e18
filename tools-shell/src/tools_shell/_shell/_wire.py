"""The wire to a shell that is driven from here: lines go in, answers and output come out, and nothing ever blocks."""

from __future__ import annotations

import os
import select
from contextlib import suppress
from typing import TYPE_CHECKING

from tools_shell._output import Kept
from tools_shell._process._pump import Pump

if TYPE_CHECKING:
    from tools_shell._process._command import Process

_HEARD = 1 << 16  # bytes of answers that are kept; what else is there was written by the code
_CHUNK = 1 << 16
_MOST_CHUNKS = 17  # a pipe may hold a megabyte; a process that goes on writing must not hold us


class Wire:
    """Sends to the standard input of `process`, and hears at the descriptor `answers`, which it closes at the end."""

    def __init__(self, process: Process, answers: int) -> None:
        self.heard = bytearray()
        self._process = process
        self._answers = answers
        self._unsent = memoryview(b"")
        self._is_deaf = False  # nobody reads what is sent any more
        self._outputs = stdout, stderr = Kept(), Kept()
        self._poll = select.poll()
        self._poll.register(answers, select.POLLIN)
        self.pump = Pump(process, stdout.add, stderr.add, stdin=None, poll=self._poll)

    def send(self, lines: bytes) -> None:
        """Send what can be sent at once, and the rest in the steps to come."""
        was_waiting = bool(self._unsent)
        self._unsent = memoryview(bytes(self._unsent) + lines if was_waiting else lines)
        self._push()
        if self._unsent and not was_waiting and self._process.stdin is not None:
            self._poll.register(self._process.stdin, select.POLLOUT)

    def step(self, seconds: float) -> None:
        """Wait so long at most for something to happen, and do what there is to do."""
        for descriptor, events in self._poll.poll(max(seconds, 0) * 1000):
            if descriptor == self._answers:
                self.listen()
            elif descriptor == self._process.stdin:
                self._push()
                if not self._unsent:
                    self._poll.unregister(descriptor)
            else:
                self.pump.handle(descriptor, events)

    def listen(self) -> None:
        """Take the answers that have come."""
        try:
            chunk = os.read(self._answers, _CHUNK)
        except BlockingIOError:
            return
        if not chunk:  # nobody will answer any more; how it ended will be news
            with suppress(KeyError):  # it was noticed before
                self._poll.unregister(self._answers)
        self.heard += chunk
        del self.heard[:-_HEARD]

    def has_all_been_read(self) -> bool:
        """Whether the shell has taken all that was sent: it is at its prompt then, or has read ahead."""
        if self._unsent or self._is_deaf or self._process.stdin is None:
            return False
        import fcntl  # POSIX only
        import termios

        return not any(fcntl.ioctl(self._process.stdin, termios.FIONREAD, bytes(4)))

    def drain(self) -> int:
        """Take the output that is there, and a bounded part of what is being written; returns the bytes of it all."""
        for descriptor, kept in zip((self._process.stdout, self._process.stderr), self._outputs, strict=True):
            for _ in range(_MOST_CHUNKS):
                before = kept.size
                if descriptor is not None:
                    self.pump.handle(descriptor, select.POLLIN)
                if kept.size == before:
                    break
        return sum(kept.size for kept in self._outputs)

    def take(self) -> tuple[Kept, Kept]:
        """Both streams so far."""
        stdout, stderr = self._outputs
        return stdout.take(), stderr.take()

    def close(self) -> None:
        """Hear nothing any more but the output and the news of the end."""
        for descriptor in (self._answers, self._process.stdin):
            if descriptor is not None:
                with suppress(KeyError):  # it is not polled any more
                    self._poll.unregister(descriptor)
        os.close(self._answers)

    def _push(self) -> None:
        descriptor = self._process.stdin
        if self._is_deaf or descriptor is None:
            self._unsent = memoryview(b"")
            return
        try:
            self._unsent = self._unsent[os.write(descriptor, self._unsent) :]
        except BlockingIOError:
            return
        except OSError:  # something else runs in the place of the shell, or nothing
            self._is_deaf = True
            self._unsent = memoryview(b"")
