"""The host's side of one worker."""

from __future__ import annotations

import os
import select
import signal
import socket
from contextlib import suppress
from struct import pack
from time import monotonic
from typing import TYPE_CHECKING

from tools_runtime._process._descendants import end_tree
from tools_runtime._process._exchange import SLICE
from tools_runtime._process._system import is_readable
from tools_runtime._process._template import Lost, Unavailable
from tools_runtime._process._wire import HELLO

if TYPE_CHECKING:
    from tools_runtime._process._template import Template

_HELLO = 10.0  # seconds for a worker that takes 2 ms to begin
_NUMBERS = 64
_DEATH = 0.2  # seconds for what was killed to be gone; it takes a millisecond, or more with gigabytes


class Worker:
    """A worker process, which may only just have been asked for. One call at a time."""

    __slots__ = (
        "__weakref__", "_end", "_numbers", "calls", "connection", "control", "known", "pid", "poll", "template",
    )  # fmt: skip

    def __init__(self, template: Template) -> None:
        self.template = template
        self.connection = template.fork()
        self.pid = 0  # until it has said hello
        self.calls = 0
        self.known: set[int] = set()  # numbers of the tools that it has
        self.control = template.control.fileno()
        self.poll = select.poll()
        self._end: int | None = None
        self._numbers: list[int] = []

    def is_ready(self) -> bool:
        """Whether it waits for a request; raises Lost or Unavailable when there is no beginning one."""
        if self.pid == 0:
            self._begin()
        return not self.poll.poll(0)  # it has ended, or something in it wrote what nobody asked for

    def _begin(self) -> None:
        until = monotonic() + _HELLO
        while not is_readable(self.connection.fileno(), 0.25):
            self.template.wake()
            if self.template.is_lost or monotonic() > until:
                raise Lost
        said, descriptors, _, _ = socket.recv_fds(self.connection, HELLO.size, 1)
        if len(said) < HELLO.size:
            if self.template.is_lost:
                raise Lost
            raise Unavailable("no worker process can be started; there may be too many processes, or too little memory")
        (self.pid,) = HELLO.unpack(said)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, pack("ll", 0, int(SLICE * 1e6)))
        self.poll.register(self.connection, select.POLLIN)
        self.poll.register(self.control, 0)  # which tells when the other end is gone
        if descriptors:
            self._end = descriptors[0]
            self.poll.register(self._end, select.POLLIN)

    def number(self) -> int:
        """A number for a call: none that what an earlier call left running could know beforehand."""
        if not self._numbers:
            data = os.urandom(8 * _NUMBERS)
            self._numbers = [int.from_bytes(data[at : at + 8], "little") for at in range(0, len(data), 8)]
        return self._numbers.pop()

    def kill(self) -> None:
        """Kill its group, and wait a moment until it is gone; what had left the group ends soon after."""
        if self.pid:
            if self.template.is_lost:  # nobody adopts its orphans, and nobody keeps its number
                if self._end is None or not is_readable(self._end, 0):
                    end_tree(self.pid)
            else:
                with suppress(OSError):  # it has ended
                    os.killpg(self.pid, signal.SIGKILL)
            self.wait(_DEATH)
        self.retire()

    def interrupt(self) -> None:
        """Kill its group, for another thread that waits for it."""
        pid = self.pid  # which that thread may set to 0 meanwhile, and that would be our own group
        if pid:
            with suppress(OSError):  # it has ended
                os.killpg(pid, signal.SIGKILL)

    def wait(self, seconds: float) -> bool:
        """Whether it ends within so many seconds."""
        return self._end is not None and is_readable(self._end, seconds)

    def status(self) -> int | None:
        """The exit code of one that does not answer any more; it is killed if it is still there."""
        if not self.pid or not self.wait(_DEATH):
            self.kill()
            return None
        code = self.template.status(self.pid)
        self.pid = 0  # waited for: the number may be another's
        self.retire()
        return code

    def retire(self) -> None:
        """Let it end, without waiting."""
        if self.connection.fileno() >= 0:
            self.forget()
            if self.pid:
                self.template.bury(self.pid)

    def forget(self) -> None:
        """Close what is open on our side."""
        self.connection.close()
        if self._end is not None:
            os.close(self._end)
            self._end = None

    def __del__(self) -> None:
        # A Ctrl-C can come between any two steps, and so when the worker is taken but nobody has it yet.
        with suppress(AttributeError):  # it was never begun
            if self.connection.fileno() >= 0 and self.template.owner == os.getpid():
                self.retire()
