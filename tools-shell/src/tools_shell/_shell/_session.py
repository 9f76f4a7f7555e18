"""One session of the tool `bash`: its shell, and what becomes of the scripts that are run in it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tools_core import Result, ToolError
from tools_shell._facts import ending, isolation_of, last_words, streams_of
from tools_shell._process._run import LONGEST

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools_core import Context
    from tools_shell._secrets import Redactor
    from tools_shell._shell._bash_session import BashSession, Outcome

_ANEW = "its folder, variables and functions are lost, and the next call begins a new session"
_KEPT = "its folder, variables and functions are kept"


class ShellSession:
    """Starts its shell when that is wanted, and again when it was lost; no script is ever run twice."""

    def __init__(self, name: str, why: str | None) -> None:
        """`why` says what became of an earlier session of that name."""
        self._name = name
        self._why = why
        self._shell: BashSession | None = None

    def run(
        self,
        script: str,
        stdin: bytes,
        until: float,
        context: Context,
        start: Callable[[], BashSession],
        *,
        is_beginning: bool,
        redactor: Callable[[], Redactor],
    ) -> Result:
        """Run `script`, which is to end by `until`; `start` gives a new shell, and `is_beginning` asks for one."""
        shell, notes = self._ready(start, is_beginning=is_beginning)
        left = max(until - time.monotonic(), 0.01)
        outcome = shell.run(script, stdin=stdin, limit=left, cancelled=lambda: context.cancelled)
        facts = streams_of(outcome.stdout, outcome.stderr, redactor()) | ending(
            outcome.returncode, shell.isolation.rung
        )
        facts |= {"timed_out": outcome.reason == "limit", "duration": round(outcome.duration, 3)}
        facts |= {"session": self._name, "isolation": shell.isolation.rung}
        if notes := [*notes, *_notes(outcome)]:
            facts["notes"] = notes
        if not outcome.is_gone:
            facts["survivors"] = "some processes could not be ended: they hang inside the kernel"
        if outcome.lost is not None:
            self._why = f"the earlier one was lost ({outcome.lost})"
            self._shell = None
        isolation = isolation_of(shell.isolation)
        if outcome.reason is None and (outcome.lost is None or outcome.returncode is not None):
            return Result.ok(facts, metadata=isolation)
        message, kind = _why(outcome)
        return Result.error(message + last_words(facts), type=kind, metadata={**facts, **isolation})

    def close(self) -> None:
        """End the shell; the next script gets a new one."""
        if self._shell is not None:
            self._shell.close()
            self._shell = None

    def _ready(self, start: Callable[[], BashSession], *, is_beginning: bool) -> tuple[BashSession, list[str]]:
        if self._shell is not None and not self._shell.is_alive():
            self._why = f"the earlier one had ended ({self._shell.lost})"
            self._shell = None
        if self._shell is not None and is_beginning:
            message = (
                f"workdir and env are for the beginning of a session, and {self._name!r} has begun: "
                "use cd and export in the script, or another session"
            )
            raise ToolError(message, "conflict")
        notes = [] if self._why is None else [f"this is a new session without the earlier state: {self._why}"]
        if self._shell is None:
            self._shell = start()
        self._why = None
        return self._shell, notes


def _notes(outcome: Outcome) -> list[str]:
    notes: list[str] = []
    if outcome.left_over:
        notes.append(f"{outcome.left_over} bytes of the output were written in the background before this script began")
    if outcome.has_killed and outcome.lost is None:
        notes.append("all that the session had started was killed, in the background, too, so that the script gave way")
    if outcome.lost is not None:
        notes.append(f"the session has ended ({outcome.lost}): {_ANEW}")
    return notes


def _why(outcome: Outcome) -> tuple[str, str]:
    """What to say of a script that did not come to its end, and the type of that error."""
    state = f"the session keeps going: {_KEPT}" if outcome.lost is None else f"the session has ended: {_ANEW}"
    after = f"after {outcome.duration:.1f} s"
    if outcome.reason is None:
        return f"the script did not come to its end ({outcome.lost}); {_ANEW}", "execution_error"
    if outcome.reason == "cancelled":
        return f"the call was cancelled {after} and the script interrupted; {state}", "cancelled"
    if outcome.reason == "limit":
        message = (
            f"the script did not end within its limit and was interrupted {after}; {state}; "
            f"give it a longer timeout (up to {LONGEST}), or less to do"
        )
        return message, "timeout_error"
    return f"killed: {outcome.reason} ({after}); {state}; use less, or split the work", "limit_exceeded"
