"""One command from its start to its end, which comes by its limit at the latest."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from tools_shell._output import Kept
from tools_shell._process._launch import start
from tools_shell._process._pump import Pump

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools_shell._process._command import Command, Process

LONGEST = 600  # seconds that a model may ask for
GRACE = 1.0  # seconds between the request to end and the order, or half of the limit where that is shorter
DRAIN = 0.15  # seconds for what is on its way when the command has ended but something holds its output
_LAST_DRAIN = 0.05  # the same when all of the job is gone that is known
_UNHEARD = 0.7  # seconds for an order to kill to be carried out
KILL = 5.0  # seconds to wait for what was killed: what hangs inside the kernel must not hang us too
SLICE = 0.1  # seconds between two looks at `cancelled`


class Ended(NamedTuple):
    """How a command ended; `returncode` is minus the signal, as `subprocess` has it."""

    returncode: int | None  # None when not even SIGKILL ended it
    reason: str | None  # why it was ended: "limit", "cancelled" or what it had used up; None if it ended by itself
    left_behind: bool  # something that it had started was still there, and was ended
    is_gone: bool  # nothing of it is there any more
    duration: float
    stdout: Kept
    stderr: Kept


def run(command: Command, *, stdin: bytes = b"", limit: float, cancelled: Callable[[], bool]) -> Ended:
    """Run to the end or to the limit; OSError when it cannot be started."""
    started = time.monotonic()
    stdout, stderr = Kept(), Kept()
    process = start(command)
    try:
        pump = Pump(process, stdout.add, stderr.add, stdin)
        reason = _wait(process, pump, started + limit, min(GRACE, limit / 2), cancelled)
        duration = time.monotonic() - started
        was_gone, was_dry = process.is_gone, pump.is_dry
        if not (was_gone and was_dry):
            process.kill()
            settle(process, pump, _LAST_DRAIN if was_gone else _UNHEARD)
        if not process.is_gone:
            process.kill()  # in another way, if there is one
            settle(process, pump, KILL)
        # Output that is held by what was not ended with the job is held by no part of it.
        left_behind = not was_gone or (pump.is_dry and not was_dry)
    finally:
        process.close()
    reason = process.hit or reason
    return Ended(process.exit, reason, left_behind and reason is None, process.is_gone, duration, stdout, stderr)


def limit_of(timeout: float, remaining: float | None) -> float:
    """Return the seconds that a command may run: those asked for, or what its caller has left."""
    return timeout if remaining is None else min(timeout, remaining)


def _wait(process: Process, pump: Pump, until: float, grace: float, cancelled: Callable[[], bool]) -> str | None:
    """Read until the command ends, by request if need be; returns why it was requested."""
    while process.exit is None and not process.is_gone:
        left = until - time.monotonic()
        if left <= 0 or cancelled():
            process.terminate()
            settle(process, pump, grace)
            return "limit" if left <= 0 else "cancelled"
        pump.step(min(left, SLICE))
    settle(process, pump, DRAIN)
    return None


def settle(process: Process, pump: Pump, patience: float) -> None:
    """Read until all is done, for `patience` seconds at most."""
    until = time.monotonic() + patience
    while not (process.is_gone and pump.is_dry):
        was_gone = process.is_gone
        left = until - time.monotonic()
        if left <= 0:
            return
        pump.step(left)
        if process.is_gone and not was_gone:  # who holds the output now is no part of the job
            until = min(until, time.monotonic() + DRAIN)
