"""One command from its start to its end, which comes by its limit at the latest."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from tools_shell._process._pump import Pump

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tools_shell._output._output import Output
    from tools_shell._process._process import Process

DEFAULT = 120  # seconds that a command may run
LONGEST = 600  # seconds that a model may ask for
GRACE = 1.0  # seconds between SIGTERM and SIGKILL, or half of the limit where that is shorter
DRAIN = 0.15  # seconds for output under way when the command has ended but another process holds its output
_LAST_DRAIN = 0.05  # the same when all known processes of the job are gone
KILL = 5.0  # seconds to wait for what was killed: a process that hangs inside the kernel must not block the caller
SLICE = 0.1  # seconds between two looks at `cancelled`
_LONGEST_STEP = 24 * 3600.0  # seconds that `poll` can count, and more


class Ended(NamedTuple):
    """The end of a command; `returncode` is minus the signal, as in `subprocess`."""

    returncode: int | None  # None when not even SIGKILL ended it
    reason: str | None  # "limit", "cancelled" or the resource limit it exceeded; None if it ended by itself
    left_behind: bool  # processes that it had started were still there, and were ended
    is_gone: bool  # no process of it is left
    duration: float


def run(
    process: Process,
    output: Output,
    *,
    stdin: bytes = b"",
    limit: float,
    cancelled: Callable[[], bool],
    more: Mapping[int, Callable[[bytes], object]] | None = None,
) -> Ended:
    """Run to the end or to the limit; `more` are descriptors to read besides the output."""
    started = time.monotonic()
    try:
        pump = Pump(process, output.add_stdout, output.add_stderr, stdin, more=more)
        reason = wait_for_end(process, pump, started + limit, min(GRACE, limit / 2), cancelled)
        return conclude(process, pump, reason, time.monotonic() - started)
    finally:
        process.close()
        output.finish()


def conclude(process: Process, pump: Pump, reason: str | None, duration: float) -> Ended:
    """End what is left of a command that has ended, or was asked to."""
    was_gone, was_dry = process.is_gone, pump.is_dry
    if not (was_gone and was_dry):
        process.kill()
        settle(process, pump, _LAST_DRAIN if was_gone else KILL)
    # Output that is still held after the job has ended is held by a process outside of it.
    left_behind = not was_gone or (pump.is_dry and not was_dry)
    reason = process.hit or reason
    return Ended(process.exit, reason, left_behind and reason is None, process.is_gone, duration)


def limit_of(timeout: float, remaining: float | None) -> float:
    """Return the seconds that a command may run: those asked for, or what its caller has left."""
    return timeout if remaining is None else min(timeout, remaining)


def wait_for_end(
    process: Process, pump: Pump, until: float, grace: float, cancelled: Callable[[], bool] | None
) -> str | None:
    """Read until the command ends, by SIGTERM if need be; returns why that was sent."""
    longest = SLICE if cancelled is not None else _LONGEST_STEP
    while process.exit is None and not process.is_gone:
        left = until - time.monotonic()
        if left <= 0 or (cancelled is not None and cancelled()):
            process.terminate()
            settle(process, pump, grace)
            return "limit" if left <= 0 else "cancelled"
        pump.step(min(left, longest))
    settle(process, pump, DRAIN)
    return None


def settle(process: Process, pump: Pump, patience: float) -> None:
    """Read until the process is gone and its output has ended, for `patience` seconds at most."""
    until = time.monotonic() + patience
    while not (process.is_gone and pump.is_dry):
        was_gone = process.is_gone
        left = until - time.monotonic()
        if left <= 0:
            return
        pump.step(left)
        if process.is_gone and not was_gone:  # a process outside of the job holds the output
            until = min(until, time.monotonic() + DRAIN)
