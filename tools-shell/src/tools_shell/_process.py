"""One command with a limit: it ends by then, and so does what it started; its output is read as it comes."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from tools_shell._output import Kept
from tools_shell._survivors import end_marked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

GRACE = 1.0  # seconds between the request to end and the order
_DRAIN = 0.15  # seconds for what is on its way when the command has ended but something holds its output
_AFTER = 0.05  # seconds for what is still in the pipes when all has been killed
_SLICE = 0.1  # seconds between two looks at `cancelled`
_SHORT_SLICE = 0.01  # the same where an exit does not wake us up
_CHUNK = 64 * 1024
_MARK = "ASK_TOOLS_JOB"


class Ended(NamedTuple):
    """How a command ended; `returncode` is minus the signal, as `subprocess` has it."""

    returncode: int | None  # None when not even SIGKILL ended it
    reason: str | None  # why it was ended: "limit" or "cancelled"; None when it ended by itself
    held: bool  # something that it started still held its output, and was ended too
    duration: float
    stdout: Kept
    stderr: Kept


def run(
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str],
    directory: str,
    limit: float,
    cancelled: Callable[[], bool],
) -> Ended:
    """Run to the end or to the limit; OSError when it cannot be started."""
    started = time.monotonic()
    mark = os.urandom(8).hex()
    reason: str | None = None
    must_sweep = True  # an exception, say Ctrl-C, may come even before the process is known here
    child = _Child()
    try:
        child.start(arguments, {**environment, _MARK: mark}, directory)
        reason = _wait(child, started + limit, cancelled)
        must_sweep = reason is not None or not child.is_done
    finally:
        child.signal(signal.SIGKILL)
        if must_sweep:
            end_marked(f"{_MARK}={mark}")
        child.settle(_AFTER)
        child.close()
    held = must_sweep and reason is None
    return Ended(child.returncode, reason, held, time.monotonic() - started, child.stdout, child.stderr)


def _wait(child: _Child, until: float, cancelled: Callable[[], bool]) -> str | None:
    """Read until the process and its output have ended, by request if need be; returns why it was."""
    child.read(until, cancelled)
    reason, patience = None, _DRAIN
    if not child.exited:
        reason, patience = "cancelled" if cancelled() else "limit", GRACE
        child.signal(signal.SIGTERM)
        child.signal(signal.SIGCONT)  # one that is stopped cannot hear the request
    child.settle(patience)
    return reason


class _Child:
    """A process in a session of its own, and the two pipes that it writes to."""

    def __init__(self) -> None:
        self.stdout = Kept()
        self.stderr = Kept()
        self.exited = True  # until it is started
        self._process: subprocess.Popen[bytes] | None = None
        self._open: dict[int, Kept] = {}
        self._exit: int | None = None
        self._poll = select.poll()

    def start(self, arguments: Sequence[str], environment: Mapping[str, str], directory: str) -> None:
        out, out_end = os.pipe()
        error, error_end = os.pipe()
        self._open = {out: self.stdout, error: self.stderr}
        try:
            self._process = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=out_end,
                stderr=error_end,
                cwd=directory,
                env=environment,
                start_new_session=True,  # one signal reaches all that it starts; no terminal is in reach
            )
        finally:
            os.close(out_end)
            os.close(error_end)
        self.exited = False
        self._exit = _exit_descriptor(self._process.pid)
        for descriptor in (out, error, self._exit):
            if descriptor is not None:
                self._poll.register(descriptor, select.POLLIN)

    @property
    def returncode(self) -> int | None:
        return None if self._process is None else self._process.returncode

    @property
    def is_done(self) -> bool:
        """Whether it has exited and nobody holds its output."""
        return self.exited and not self._open

    def read(self, until: float, cancelled: Callable[[], bool] = lambda: False) -> None:
        """Keep what is written until all is done, `until` has come, or the process exits."""
        already_exited = self.exited
        look = _SLICE if self._exit is not None else _SHORT_SLICE
        while not self.is_done and self.exited is already_exited:
            left = until - time.monotonic()
            if left <= 0 or cancelled():
                return
            for descriptor, _ in self._poll.poll(min(left, look) * 1000):
                self._take(descriptor)
            if self._exit is None and self._process is not None:
                self.exited = self._process.poll() is not None

    def settle(self, patience: float) -> None:
        """Read until all is done, for `patience` seconds at most."""
        until = time.monotonic() + patience
        while not self.is_done and time.monotonic() < until:
            self.read(until)

    def _take(self, descriptor: int) -> None:
        if descriptor == self._exit:
            self.exited = True
            self._poll.unregister(descriptor)
        elif chunk := os.read(descriptor, _CHUNK):
            self._open[descriptor].add(chunk)
        else:
            self._poll.unregister(descriptor)
            del self._open[descriptor]
            os.close(descriptor)

    def signal(self, number: int) -> None:
        """Send a signal to the whole group; its number is not reused while its leader is not waited for."""
        if self._process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def close(self) -> None:
        for descriptor in (*self._open, self._exit):
            if descriptor is not None:
                os.close(descriptor)
        if self._process is not None:
            # Not even SIGKILL ends a process that hangs inside the kernel: it must not hang us too.
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(None if self.exited else GRACE)


def _exit_descriptor(pid: int) -> int | None:
    """A descriptor that becomes readable when the process exits; None where there is no such thing."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None
