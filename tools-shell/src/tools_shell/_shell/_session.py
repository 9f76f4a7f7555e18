"""One session of the tool `bash`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_shell._facts import circumstances, ending, streams_of
from tools_shell._session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools_core import Context, Result
    from tools_shell._secrets import Redactor
    from tools_shell._shell._bash_session import BashSession, Outcome


class ScriptSession(Session["BashSession"]):
    """Runs scripts in a bash of its own."""

    what = "script"
    keeps = "folder, variables and functions"

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
        if is_beginning and self.current() is not None:
            message = (
                f"workdir and env are for the beginning of a session, and {self.name!r} has begun: "
                "use cd and export in the script, or another session"
            )
            raise ToolError(message, "conflict")
        shell, notes = self.ready(start)
        left = max(until - time.monotonic(), 0.01)
        outcome = shell.run(script, stdin=stdin, limit=left, cancelled=lambda: context.cancelled or self.is_stopped)
        ended = outcome.ended
        facts = streams_of(ended, redactor()) | ending(ended.returncode, shell.isolation.rung)
        facts |= {"session": self.name, **circumstances(ended, shell.isolation, self.what)}
        if notes := [*notes, *self._notes(outcome, shell.lost)]:
            facts["notes"] = notes
        return self.result(facts, ended, shell, is_complete=shell.lost is None or ended.returncode is not None)

    def _notes(self, outcome: Outcome, lost: str | None) -> list[str]:
        notes: list[str] = []
        if count := outcome.left_over:
            notes.append(f"{count} bytes of the output were written in the background before this script began")
        if outcome.has_killed and lost is None:
            notes.append(
                "all that the session had started was killed, in the background, too, so that the script gave way"
            )
        if lost is not None:
            notes.append(self.state(lost))
        return notes
