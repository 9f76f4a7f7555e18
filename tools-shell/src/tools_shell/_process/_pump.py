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


class Pump:
    """Writes standard input and closes it, and passes output to the sink. Only `step` blocks.

    With `stdin` None, the caller writes to standard input itself.
    """

    def __init__(
        self,
        process: Process,
        sink: Sink,
        stdin: bytes | None = b"",
        more: Mapping[int, Sink] | None = None,
    ) -> None:
        self._process = process
        self._poll = select.poll()
        self._sinks: dict[int, Sink] = {process.stdout: sink, **(more or {})}
        self._source = None if stdin is None else process.stdin
        self._feed = memoryview(stdin or b"")
        for descriptor in (*self._sinks, process.events):
            self._poll.register(descriptor, select.POLLIN)
        if self._source is not None:
            self._poll.register(self._source, select.POLLOUT)

    @property
    def is_drained(self) -> bool:
        """Return whether all output streams are closed."""
        return not self._sinks

    def step(self, seconds: float) -> bool:
        """Wait up to `seconds` for events and handle them; return whether there were any."""
        ready = self._poll.poll(seconds * 1000)
        for descriptor, _ in ready:
            self._handle(descriptor)
        return bool(ready)

    def _handle(self, descriptor: int) -> None:
        """Read from or write to one descriptor, without waiting."""
        if descriptor == self._process.events:
            self._process.read_events()
            if self._process.is_gone:
                self._poll.unregister(descriptor)
            return
        if descriptor == self._source:
            self._write(descriptor)
        elif descriptor in self._sinks:
            self._read(descriptor)

    def _read(self, descriptor: int) -> None:
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

    def _write(self, descriptor: int) -> None:
        try:
            self._feed = self._feed[os.write(descriptor, self._feed[:_CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:  # it has closed its input
            self._feed = self._feed[:0]
        if self._feed:
            return
        self._source = None
        self._poll.unregister(descriptor)
        self._process.close_stdin()
