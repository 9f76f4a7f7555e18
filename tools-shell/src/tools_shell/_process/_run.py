"""Running one command to its end, or to its time limit."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from tools_shell._process._pump import Pump

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tools_shell._output import Output
    from tools_shell._process._process import Process

DEFAULT = 120  # seconds that a command may run
LONGEST = 600  # seconds that a model may ask for
GRACE = 1.0  # seconds between SIGTERM and SIGKILL, at most half of the limit
DRAIN = 0.15  # seconds to read remaining output if another process holds it open after the command has ended
_LAST_DRAIN = 0.05  # the same once all processes of the job have ended
KILL = 5.0  # seconds to wait for killed processes, which may hang in the kernel
SLICE = 0.1  # seconds between checks of `cancelled`
_LONGEST_STEP = 24 * 3600.0  # seconds, within the range of `poll`


class Outcome(NamedTuple):
    """The end of a command; `returncode` is minus the signal, as in `subprocess`."""

    returncode: int | None  # None if not even SIGKILL ended it
    reason: str | None  # "limit", "cancelled" or the resource limit it exceeded; None if it ended by itself
    had_background: bool  # background processes were killed
    is_gone: bool  # all processes have exited
    duration: float


def run(
    process: Process,
    output: Output,
    *,
    stdin: bytes = b"",
    limit: float,
    cancelled: Callable[[], bool],
    more: Mapping[int, Callable[[bytes], object]] | None = None,
) -> Outcome:
    """Run a process to its end or limit; `more` maps further descriptors to their sinks."""
    started = time.monotonic()
    try:
        pump = Pump(process, output.add, stdin, more=more)
        reason = wait_for_end(process, pump, started + limit, min(GRACE, limit / 2), cancelled)
        return conclude(process, pump, reason, time.monotonic() - started)
    finally:
        process.close()
        output.finish()


def conclude(process: Process, pump: Pump, reason: str | None, duration: float) -> Outcome:
    """Kill the remaining processes of a command that has ended or was asked to end."""
    was_gone, was_dry = process.is_gone, pump.is_drained
    if not (was_gone and was_dry):
        process.kill()
        settle(process, pump, _LAST_DRAIN if was_gone else KILL)
    # Output that stays open after the job has ended belongs to a process outside.
    had_background = not was_gone or (pump.is_drained and not was_dry)
    reason = process.exceeded or reason
    return Outcome(process.exit, reason, had_background and reason is None, process.is_gone, duration)


def limit_of(timeout: float, remaining: float | None) -> float:
    """Return the time limit in seconds: `timeout`, or less if the caller has less left."""
    return timeout if remaining is None else min(timeout, remaining)


def wait_for_end(
    process: Process, pump: Pump, until: float, grace: float, cancelled: Callable[[], bool] | None
) -> str | None:
    """Read until the command ends; send SIGTERM at the limit or on cancellation, and return which it was."""
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
    """Read until all processes and the output have ended, for up to `patience` seconds."""
    until = time.monotonic() + patience
    while not (process.is_gone and pump.is_drained):
        was_gone = process.is_gone
        left = until - time.monotonic()
        if left <= 0:
            return
        pump.step(left)
        if process.is_gone and not was_gone:  # a process outside the job holds the output
            until = min(until, time.monotonic() + DRAIN)
