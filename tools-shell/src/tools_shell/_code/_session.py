"""One session of the tool `repl`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tools_shell._code._result import facts_of
from tools_shell._facts import circumstances, ending
from tools_shell._session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools_core import Context, Result
    from tools_shell._code._host import Kernel
    from tools_shell._secrets import Redactor


class ReplSession(Session["Kernel"]):
    """Runs code in a kernel of its own."""

    what = "code"
    keeps = "variables"

    def run(
        self, code: str, until: float, context: Context, start: Callable[[], Kernel], redactor: Callable[[], Redactor]
    ) -> Result:
        """Run `code`, which is to end by `until`; `start` gives a new kernel."""
        kernel, notes = self.ready(start)
        left = max(until - time.monotonic(), 0.01)
        ended, reply = kernel.run(code, limit=left, cancelled=lambda: context.cancelled or self.is_stopped)
        facts = facts_of(ended, reply, redactor())
        if notes:
            facts["notes"] = [*notes, *facts.get("notes", ())]
        if kernel.lost is not None:
            facts |= ending(ended.returncode, kernel.isolation.rung)
        elif reply is not None and reply.exit_code is not None:
            facts["exit_code"] = reply.exit_code
        facts |= {"session": self.name, **circumstances(ended, kernel.isolation, self.what)}
        images = () if reply is None else reply.images
        return self.result(facts, ended, kernel, is_complete=reply is not None, images=images)
