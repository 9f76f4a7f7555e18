"""What every tool says of a command: its streams, how it ended, and how isolated it was."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools_shell._output import Kept
    from tools_shell._sandbox._isolation import Isolation
    from tools_shell._secrets import Redactor

_LAST = 1000  # characters of each stream that an error shows: a model reads nothing but its message
_SIGNALLED = 128


def streams_of(stdout: Kept, stderr: Kept, redactor: Redactor) -> dict[str, Any]:
    """Both streams as text without secrets; what is rare is there only when it applies."""
    streams = {"stdout": stdout.text(redactor), "stderr": stderr.text(redactor)}
    facts: dict[str, Any] = {name: stream.text for name, stream in streams.items()}
    if left_out := {name: stream.left_out for name, stream in streams.items() if stream.left_out}:
        facts["truncated_bytes"] = left_out
    if invalid := [name for name, stream in streams.items() if not stream.is_utf8]:
        facts["not_utf8"] = invalid
    return facts


def last_words(facts: Mapping[str, Any]) -> str:
    """The end of what was written, each line of it below the message of an error."""
    shown = [f"{name} ended with:\n{facts[name][-_LAST:]}" for name in ("stdout", "stderr") if facts[name]]
    return "".join(f"\n{text}" for text in shown)


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


def isolation_of(isolation: Isolation) -> dict[str, Any]:
    """How isolated it was; it travels with every result."""
    return {"isolation": isolation.rung, "not_isolated": list(isolation.missing)}
