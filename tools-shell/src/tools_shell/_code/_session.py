"""One session of the tool `repl`: its kernel, and what becomes of the code that is run in it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from tools_shell._code._result import facts_of, failure, success
from tools_shell._facts import ending
from tools_shell._process._run import LONGEST

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools_core import Context, Result
    from tools_shell._code._host import Kernel, Outcome
    from tools_shell._secrets import Redactor

_ANEW = "its variables are lost and the code is not run again; the next call begins a new session"


class ReplSession:
    """Starts its kernel when that is wanted, and again when it was lost; no code is ever run twice."""

    def __init__(self, name: str, why: str | None) -> None:
        """`why` says what became of an earlier session of that name."""
        self._name = name
        self._why = why
        self._kernel: Kernel | None = None

    def run(
        self,
        code: str,
        until: float,
        context: Context,
        start: Callable[[Context], Kernel],
        redactor: Callable[[], Redactor],
    ) -> Result:
        """Run `code`, which is to end by `until`; `start` gives a new kernel."""
        kernel, notes = self._ready(context, start)
        left = max(until - time.monotonic(), 0.01)
        outcome = kernel.run(code, limit=left, cancelled=lambda: context.cancelled)
        facts = facts_of(outcome.reply, outcome.stdout, outcome.stderr, redactor())
        if notes:
            facts["notes"] = [*notes, *facts.get("notes", ())]
        facts["timed_out"] = outcome.reason == "limit"
        facts["duration"] = round(outcome.duration, 3)
        facts["session"] = self._name
        facts["isolation"] = kernel.isolation.rung
        reply = outcome.reply
        if reply is None:
            return self._lost(kernel, outcome, facts)
        if reply.exit_code is not None:
            facts["exit_code"] = reply.exit_code
        if outcome.reason is not None:
            return self._interrupted(kernel, outcome, facts)
        return success(facts, reply, kernel.isolation)

    def close(self) -> None:
        """End the kernel; the next code gets a new one."""
        if self._kernel is not None:
            self._kernel.close()
            self._kernel = None

    def _ready(self, context: Context, start: Callable[[Context], Kernel]) -> tuple[Kernel, list[str]]:
        if self._kernel is not None and not self._kernel.is_alive():
            lost = self._kernel
            self.close()
            self._why = f"the earlier one had ended ({lost.ending})"
        notes = [] if self._why is None else [f"this is a new session without earlier variables: {self._why}"]
        if self._kernel is None:
            self._kernel = start(context)
        self._why = None
        return self._kernel, notes

    def _interrupted(self, kernel: Kernel, outcome: Outcome, facts: dict[str, Any]) -> Result:
        after = f"after {outcome.duration:.1f} s"
        if outcome.reason == "cancelled":
            message = f"the call was cancelled {after} and the code interrupted; its variables are kept"
            return failure(message, "cancelled", facts, kernel.isolation)
        message = (
            f"the code did not end within its limit and was interrupted {after}; its variables are kept; "
            f"give it a longer timeout (up to {LONGEST}), or less to do"
        )
        return failure(message, "timeout_error", facts, kernel.isolation)

    def _lost(self, kernel: Kernel, outcome: Outcome, facts: dict[str, Any]) -> Result:
        self._kernel = None
        session, after = f"session {self._name!r}", f"after {outcome.duration:.1f} s"
        if outcome.reason is None:
            facts |= ending(kernel.process.exit, kernel.isolation.rung)
            self._why = f"the earlier one was lost ({kernel.ending})"
            kind = "limit_exceeded" if kernel.process.hit else "execution_error"
            message = f"{session} ended while the code ran ({kernel.ending})"
            return failure(f"{message}; {_ANEW}", kind, facts, kernel.isolation)
        self._why = "the earlier one was ended with code that could not be interrupted"
        if outcome.reason == "cancelled":
            message = f"the call was cancelled {after}, the code could not be interrupted, and {session} was ended"
            return failure(f"{message}; {_ANEW}", "cancelled", facts, kernel.isolation)
        message = f"the code did not end within its limit, could not be interrupted, and {session} was ended {after}"
        return failure(f"{message}; {_ANEW}", "timeout_error", facts, kernel.isolation)
