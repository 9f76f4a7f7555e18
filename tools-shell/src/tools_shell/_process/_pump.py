"""`Pump`: one poll loop for the input, output and events of a process."""

from __future__ import annotations

import errno
import os
import select
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tools_shell._process._process import Process

    Sink: TypeAlias = Callable[[bytes], object]

_CHUNK = 1 << 16
_LINE_ENDS = (b"\n", b"\r", b"\x03", b"\x04")  # on a terminal with default settings; Ctrl-C discards the line


class Pump:
    """Writes standard input and closes it, and passes output to the sinks. Only `step` blocks.

    With `stdin` None, the caller writes to standard input itself.
    """

    def __init__(
        self,
        process: Process,
        stdout: Sink,
        stderr: Sink,
        stdin: bytes | None = b"",
        more: Mapping[int, Sink] | None = None,
    ) -> None:
        self._process = process
        self._poll = select.poll()
        self._sinks: dict[int, Sink] = {process.stdout: stdout, **(more or {})}
        if process.stderr is not None:
            self._sinks[process.stderr] = stderr
        is_terminal = process.stdin == process.stdout
        self._source = None if stdin is None else process.stdin
        stdin = stdin or b""
        self._feed = memoryview(stdin + end_of_file(begun(stdin)) if is_terminal else stdin)
        for descriptor in (*self._sinks, process.news):
            self._poll.register(descriptor, select.POLLIN)
        if self._source is not None:
            self._poll.register(self._source, select.POLLOUT | (select.POLLIN if is_terminal else 0))

    @property
    def is_dry(self) -> bool:
        """Return whether all output streams are closed."""
        return not self._sinks

    def step(self, seconds: float) -> bool:
        """Wait up to `seconds` for events and handle them; return whether there were any."""
        ready = self._poll.poll(seconds * 1000)
        for descriptor, events in ready:
            self._handle(descriptor, events)
        return bool(ready)

    def _handle(self, descriptor: int, events: int) -> None:
        """Read from or write to one descriptor, without waiting."""
        if descriptor == self._process.news:
            self._process.take_news()
            if self._process.is_gone:
                self._poll.unregister(descriptor)
            return
        if descriptor == self._source and events & ~select.POLLIN:
            self._give(descriptor)
        if descriptor in self._sinks and events & ~select.POLLOUT:
            self._take(descriptor)

    def _take(self, descriptor: int) -> None:
        try:
            chunk = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno not in {errno.EIO, errno.ECONNRESET}:  # end of file of a terminal, and of a socket
                raise
            chunk = b""
        if chunk:
            self._sinks[descriptor](chunk)
        else:
            self._poll.unregister(descriptor)
            del self._sinks[descriptor]

    def _give(self, descriptor: int) -> None:
        try:
            self._feed = self._feed[os.write(descriptor, self._feed[:_CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:  # it has closed its input
            self._feed = self._feed[:0]
        if self._feed:
            return
        self._source = None
        if descriptor in self._sinks:
            self._poll.modify(descriptor, select.POLLIN)
        else:
            self._poll.unregister(descriptor)
            self._process.close_stdin()


def begun(text: bytes, before: int = 0) -> int:
    """Return the length of the unfinished terminal line after `text` is typed behind `before` bytes."""
    end = max(map(text.rfind, _LINE_ENDS))
    return len(text) - 1 - end if end >= 0 else before + len(text)


def end_of_file(begun: int) -> bytes:
    """Return the end-of-file character of a terminal: once at the start of a line, else twice (termios(3), VEOF)."""
    return b"\x04\x04" if begun else b"\x04"
