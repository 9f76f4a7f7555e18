"""What every tool says of what it ran: its streams, how it ended, and how isolated it was."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

from tools_core import Result
from tools_shell._process._run import LONGEST

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools_core import Image
    from tools_shell._process._run import Ended
    from tools_shell._sandbox._isolation import Isolation
    from tools_shell._secrets import Redactor

SURVIVORS = "some processes could not be ended: they hang inside the kernel"

_LAST = 1000  # characters of each stream that an error shows: a model reads nothing but its message
_SIGNALLED = 128


def streams_of(ended: Ended, redactor: Redactor) -> dict[str, Any]:
    """Both streams as text without secrets; what is rare is there only when it applies."""
    streams = {"stdout": ended.stdout.text(redactor), "stderr": ended.stderr.text(redactor)}
    facts: dict[str, Any] = {name: stream.text for name, stream in streams.items()}
    if left_out := {name: stream.left_out for name, stream in streams.items() if stream.left_out}:
        facts["truncated_bytes"] = left_out
    if invalid := [name for name, stream in streams.items() if not stream.is_utf8]:
        facts["not_utf8"] = invalid
    return facts


def ending(status: int | None, rung: str) -> dict[str, Any]:
    """An exit status as `exit_code`, or as the name of a `signal`; both when it comes from bwrap.

    That reports a signal as shells do, by 128 more than its number.
    """
    if status is None or 0 <= status <= _SIGNALLED or (status > 0 and rung != "bubblewrap"):
        return {"exit_code": status}
    number = -status if status < 0 else status - _SIGNALLED
    code = {"exit_code": None if status < 0 else status}
    try:
        return {**code, "signal": signal.Signals(number).name}
    except ValueError:  # real-time signals have no names
        return {**code, "signal": f"signal {number}"} if status < 0 else code


def circumstances(ended: Ended, isolation: Isolation, what: str) -> dict[str, Any]:
    """What else there is to say of a "script" or "code" that was run."""
    facts: dict[str, Any] = {"timed_out": ended.reason == "limit", "duration": round(ended.duration, 3)}
    facts["isolation"] = isolation.rung
    if ended.left_behind:
        facts["background"] = f"processes that the {what} left behind were ended"
    if not ended.is_gone:
        facts["survivors"] = SURVIVORS
    return facts


def stopped(ended: Ended, what: str, state: str = "") -> tuple[str, str] | None:
    """Why a "script" or "code" was stopped, and the type of that error; None when it ended by itself.

    `state` says what became of the session that it ran in.
    """
    after = f"after {ended.duration:.1f} s"
    state = state and f"; {state}"
    if ended.reason is None:
        return None
    if ended.reason == "cancelled":
        return f"the call was cancelled and the {what} stopped {after}{state}", "cancelled"
    if ended.reason == "limit":
        advice = f"give it a longer timeout (up to {LONGEST}), or less to do"
        return f"the {what} did not end within its limit and was stopped {after}{state}; {advice}", "timeout_error"
    return f"killed: {ended.reason} ({after}){state}; use less, or split the work", "limit_exceeded"


def conclude(
    facts: dict[str, Any], isolation: Isolation, problem: tuple[str, str] | None, images: Sequence[Image] = ()
) -> Result:
    """The result with these facts; where there is a problem, an error whose message is all that a model reads."""
    metadata = isolation_of(isolation)
    if problem is None:
        return Result.ok(facts, metadata=metadata, content=[dict(facts), *images] if images else None)
    message, kind = problem
    if error := facts.get("error"):
        message += f"\n{error['traceback']}"
    return Result.error(message + _last_words(facts), type=kind, metadata={**facts, **metadata})


def _last_words(facts: Mapping[str, Any]) -> str:
    """The end of what was written, each line of it below the message of an error."""
    shown = [f"{name} ended with:\n{facts[name][-_LAST:]}" for name in ("stdout", "stderr") if facts[name]]
    return "".join(f"\n{text}" for text in shown)


def isolation_of(isolation: Isolation) -> dict[str, Any]:
    """How isolated it was; it travels with every result."""
    return {"isolation": isolation.rung, "not_isolated": isolation.left_open}
