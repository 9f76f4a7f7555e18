"""The result of a command: plain text for the model, a record for programs."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

from tools_core import Result
from tools_shell._output._output import SHOWN
from tools_shell._process._run import LONGEST

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tools_core import Image
    from tools_shell._output._output import Output
    from tools_shell._process._run import Outcome
    from tools_shell._sandbox._isolation import Isolation

SURVIVORS = "some processes could not be ended: they hang inside the kernel"
BACKGROUND = "processes left in the background were ended; job_start keeps them running"
_SIGNALLED = 128
_NO_NETWORK = (
    *("could not resolve host", "couldn't resolve host", "failure in name resolution", "temporary failure resolving"),
    *("name or service not known", "no such host", "getaddrinfo enotfound", "eai_again", "nameresolutionerror"),
    *("network is unreachable", "failed to lookup address", "failed to establish a new connection"),
    *("couldn't connect to server", "socket: operation not permitted"),
)
_READ_ONLY = ("read-only file system", "device or resource busy")


def exit_of(status: int | None, level: str) -> dict[str, Any]:
    """Return an exit status as `exit_code` or as the name of a `signal`; both for bubblewrap, which adds 128."""
    if status is None or 0 <= status <= _SIGNALLED or (status > 0 and level != "bubblewrap"):
        return {"exit_code": status}
    number = -status if status < 0 else status - _SIGNALLED
    code = {"exit_code": None if status < 0 else status}
    try:
        return {**code, "signal": signal.Signals(number).name}
    except ValueError:  # real-time signals do not have names
        return {**code, "signal": f"signal {number}"} if status < 0 else code


def isolation_of(isolation: Isolation) -> dict[str, Any]:
    """Return the isolation metadata of every result."""
    return {"isolation": isolation.level, "not_isolated": isolation.left_open}


def report(
    output: Output,
    facts: Mapping[str, Any],
    ended: Outcome,
    isolation: Isolation,
    *,
    answer: str = "",
    notes: Sequence[str] = (),
    images: Sequence[Image] = (),
) -> Result:
    """Return a result; the model reads the output, the `answer`, the ending, and the `notes`.

    The record has the output, the number of characters missing from it, and the `facts`.
    """
    record = {"output": output.text(), **facts}
    if output.omitted():
        record["truncated"] = output.omitted()
    if notes:
        record["notes"] = list(notes)
    record["timed_out"] = ended.reason == "limit"
    if ended.had_background:
        record["background"] = BACKGROUND
    if not ended.is_gone:
        record["survivors"] = SURVIVORS
    remarks = [_ending(record, ended), record.get("background"), record.get("survivors"), *notes]
    if output.omitted(SHOWN):
        remarks.append(f"{SHOWN:,} characters of output are shown; redirect it to a file to read the rest")
    shown = output.text(SHOWN)
    shown += ("\n" if answer and shown and not shown.endswith("\n") else "") + answer
    if not isolation.network and _mentions(shown, _NO_NETWORK):
        remarks.append("no network in this sandbox; use what is installed, or ask for a sandbox with network access")
    if isolation.bubblewrap is not None and _mentions(shown, _READ_ONLY):
        remarks.append(
            "read-only in this sandbox: files outside of the workspace, and protected places in it, such as "
            ".git/config, .git/hooks and .vscode; only the user can change these"
        )
    text = bracketed(shown, remarks)
    metadata = {**isolation_of(isolation), "duration": round(ended.duration, 3)}
    if ended.reason is None:
        return Result.ok(record, content=[text, *images] if images else text, metadata=metadata)
    kind = {"limit": "timeout_error", "cancelled": "cancelled"}.get(ended.reason, "limit_exceeded")
    return Result.error(text, type=kind, metadata={**record, **metadata})


def _mentions(shown: str, messages: Iterable[str]) -> bool:
    lowered = shown.lower()
    return any(message in lowered for message in messages)


def bracketed(shown: str, remarks: Iterable[str | None]) -> str:
    """Append a line in brackets for each remark."""
    lines = [f"[{remark}]" for remark in remarks if remark]
    gap = "\n" if shown and not shown.endswith("\n") else ""
    return shown + gap + "\n".join(lines)


def _ending(record: Mapping[str, Any], ended: Outcome) -> str:
    after = f"after {ended.duration:.1f} s"
    if ended.reason == "limit":
        return f"timed out {after}; raise timeout (up to {LONGEST}) or use job_start"
    if ended.reason == "cancelled":
        return f"cancelled {after}"
    if ended.reason is not None:
        return f"killed {after}: {ended.reason}; use less, or split the work"
    if "signal" in record:
        return f"killed by {record['signal']} {after}"
    if record.get("exit_code") is None:
        return f"done {after}"
    return f"exit {record['exit_code']} {after}"
