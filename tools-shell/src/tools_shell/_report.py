"""The result of a command: plain text for the model, a record for programs."""

from __future__ import annotations

import re
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tools_core import Result
from tools_shell._output import MAX_SHOWN
from tools_shell._process._run import LONGEST

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tools_core import Context, Image
    from tools_shell._output import Output
    from tools_shell._process._run import Outcome
    from tools_shell._sandbox._isolation import Isolation

SURVIVORS = "some processes could not be killed: they are stuck in the kernel"
BACKGROUND = "background processes were ended; use job_start to keep them running"
_MAX_WARNINGS = 8  # that a model reads
_SIGNALLED = range(129, 160)  # exit codes of killed programs: 128 and the number of the signal, as in shells
_NO_NETWORK = (
    *("could not resolve host", "couldn't resolve host", "failure in name resolution", "temporary failure resolving"),
    *("name or service not known", "no such host", "getaddrinfo enotfound", "eai_again", "nameresolutionerror"),
    *("network is unreachable", "failed to lookup address", "failed to establish a new connection"),
    *("tunnel connection failed", "from proxy after connect", "is not one of the hosts", "proxy connection failed"),
    *("couldn't connect to server", "socket: operation not permitted", "enetunreach", "fetch failed", "dns error"),
    *("no matching distribution found", "unknownhostexception", "unresolvedaddressexception", "bad hostname"),
    *("unable to resolve host", "could not be resolved", "could not translate host name", "unknown host"),
    *("no servers could be reached", "error when performing the request to http", " on 127.0.0.1:53", " on [::1]:53"),
)
# Programs that may say nothing: `curl -s URL | jq .`
_DOWNLOAD = re.compile(r"(?:^|[;|&(`!]|\b(?:do|else|then)\b)\s*(?:curl|wget)\s([^\n;|]*)", re.MULTILINE)
_OTHER_HOST = re.compile(r"https?://(?!(?:[^/\s]*@)?(?:localhost|127\.|0\.0\.0\.0|\[::))")
_END = 4_000  # characters of output in which errors are looked for
_ROOM = 200  # characters for what joins the parts of a text
_GIT_IS_READ_ONLY = (
    "git's hooks and configuration are read-only in this sandbox, and for commands that change all files a repository "
    "that begins above the workspace; `git remote add` or `git switch` work in a script of git commands alone"
)
_GRANTS = ("network", "write")  # that the user can give
_READ_ONLY = ("read-only file system", "device or resource busy")
_OF_LANDLOCK = re.compile(r"/(?:tmp|dev/shm|psm_)|shm_open|semlock").search  # folders that it cannot replace
_OF_GIT = re.compile(r"\.git/|: unable to (?:create|unlink)").search


def exit_of(status: int | None) -> dict[str, Any]:
    """Return the `exit_code` for an exit status, and for a killed program also the name of the `signal`.

    Some sandboxes report a signal as an exit code, so that both look the same at every level.
    """
    code = 128 - status if status is not None and status < 0 else status
    if code is not None and code in _SIGNALLED:
        with suppress(ValueError):  # a number without a signal
            return {"exit_code": code, "signal": signal.Signals(code - 128).name}
    return {"exit_code": code}


def exit_text(facts: Mapping[str, Any]) -> str:
    """Return an exit code as text, such as `exit 137 (SIGKILL)`."""
    if facts["exit_code"] is None:
        return "exit code unknown"
    return f"exit {facts['exit_code']}" + (f" ({facts['signal']})" if "signal" in facts else "")


def isolation_of(isolation: Isolation, warnings: Sequence[str] = ()) -> dict[str, Any]:
    """Return the isolation metadata of every result."""
    facts = {"isolation": isolation.level, "not_isolated": isolation.left_open}
    return {**facts, "warnings": list(warnings)} if warnings else facts


def report(  # noqa: PLR0913  (properties of one command)
    output: Output,
    facts: Mapping[str, Any],
    outcome: Outcome,
    isolation: Isolation,
    context: Context,
    *,
    answer: str = "",
    notes: Sequence[str] = (),
    images: Sequence[Image] = (),
    script: str = "",
) -> Result:
    """Return a result; the model reads the output, the `answer`, the exit code, and the `notes`.

    `script` is what a shell ran.

    The record has the output, the number of omitted characters, and the `facts`.
    """
    record = {"output": output.text(), **facts}
    if output.omitted:
        record["truncated"] = output.omitted
    if notes:
        record["notes"] = list(notes)
    record["timed_out"] = outcome.reason == "limit"
    if outcome.had_background:
        record["background"] = BACKGROUND
    if not outcome.is_gone:
        record["survivors"] = SURVIVORS
    warnings = isolation.warnings()
    remarks = [_ending(record, outcome), record.get("background"), record.get("survivors"), *notes]
    remarks += [*shortened(warnings), *isolation.news()]
    has_failed = outcome.reason is not None or bool(record.get("exit_code")) or "error" in record
    reasons = dict(_reasons(record["output"] + answer, isolation, script, has_failed=has_failed))
    remarks += reasons.values()
    room = MAX_SHOWN if context.max_characters is None else min(context.max_characters, MAX_SHOWN)
    room -= len(answer) + sum(len(remark) + 3 for remark in remarks if remark) + _ROOM
    text, omitted = output.page(max(room, _ROOM))
    if omitted:
        remarks.append("redirect long output to a file to read all of it")
    text += ("\n" if answer and text and not text.endswith("\n") else "") + answer
    text = bracketed(text, remarks)
    metadata = {**isolation_of(isolation, warnings), "duration": round(outcome.duration, 3)}
    if grants := [name for name in reasons if name in _GRANTS]:
        metadata["missing_grants"] = grants
    if outcome.reason is None:
        return Result.ok(record, content=[text, *images] if images else text, metadata=metadata)
    kinds = {"limit": "timeout_error", "cancelled": "cancelled"}
    kind = kinds.get(outcome.reason, "limit_exceeded")
    return Result.error(text, type=kind, metadata={**record, **metadata})


def shortened(warnings: list[str]) -> list[str]:
    """Return what a model reads of the warnings; the metadata has all of them."""
    if len(warnings) <= _MAX_WARNINGS:
        return warnings
    return [*warnings[:_MAX_WARNINGS], f"{len(warnings) - _MAX_WARNINGS} more such files; the user sees all of them"]


def _downloads(script: str) -> bool:
    """Return whether a script reads from another machine; a here-document is only text."""
    return "<<" not in script and any(_OTHER_HOST.search(words) for words in _DOWNLOAD.findall(script))


def _reasons(text: str, isolation: Isolation, script: str, *, has_failed: bool) -> Iterator[tuple[str, str]]:
    """Explain the error messages that the sandbox causes; a program may have failed although the script did not.

    Yields what was missing, such as "network", with a sentence for the model.
    """
    lowered = text[-_END:].lower()
    is_silent = not isolation.hosts and _downloads(script)
    if not isolation.network and (is_silent or any(message in lowered for message in _NO_NETWORK)):
        if isolation.hosts:
            hosts = ", ".join(isolation.hosts)
            yield "network", f"only {hosts} can be reached; the user can allow other hosts (--network)"
        else:
            yield "network", "this sandbox has no network: use what is installed, or ask the user for it (--network)"
    refused = [line for line in lowered.splitlines() if any(message in line for message in _READ_ONLY)]
    if has_failed and isolation.bubblewrap is not None and refused:
        if any(_OF_GIT(line) for line in refused):
            yield "git", _GIT_IS_READ_ONLY
        else:
            yield "write", "only the workspace, /tmp and caches can be written here; --allow-write adds to them"
    if has_failed and isolation.level == "landlock" and "permission denied" in lowered and _OF_LANDLOCK(lowered):
        yield "write", "this sandbox has $TMPDIR instead of /tmp, and no shared memory; --allow-write adds folders"


def bracketed(text: str, remarks: Iterable[str | None]) -> str:
    """Append a line in brackets for each remark."""
    lines = [f"[{remark}]" for remark in remarks if remark]
    gap = "\n" if text and not text.endswith("\n") else ""
    return text + gap + "\n".join(lines)


def _ending(record: Mapping[str, Any], outcome: Outcome) -> str:
    after = f"after {outcome.duration:.1f} s"
    if outcome.reason == "limit":
        return f"timed out {after}; raise timeout (up to {LONGEST}) or use job_start"
    if outcome.reason == "cancelled":
        return f"cancelled {after}"
    if outcome.reason is not None:
        return f"killed {after}: {outcome.reason}; use less, or split the work"
    return f"{'done' if record.get('exit_code') is None else exit_text(record)} {after}"
