"""What surrounds the calls of a fuzzed tool: a deadline, a workspace, and a secret that must not come out."""

from __future__ import annotations

import contextlib
import os
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tools_core import Context
from tools_testing._observe import Observation, observe

if TYPE_CHECKING:
    from collections.abc import Generator

    from tools_core import Result, Tool

VARIABLE = "TOOLS_TESTING_API_TOKEN"  # what is in there must never come out
_GRACE = 5.0  # seconds, beyond the limit, until a call counts as never ending


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call: what kind of arguments it had, and what was seen of it."""

    kind: str
    seen: Observation

    @property
    def answer(self) -> Result | None:
        """The result, where there is one."""
        return self.seen.answer


class Caller:
    """Calls one tool in a given surrounding; its limit is the deadline that each call is told."""

    def __init__(self, tool: Tool, workspace: str, limit: float, context: Context | None) -> None:
        self.tool = tool
        self.workspace = workspace
        self.limit = limit
        self.context = context
        self.secret = secrets.token_hex(12)

    def __call__(self, arguments: Any, kind: str) -> Call:
        return Call(kind=kind, seen=observe(self.tool, arguments, self.fresh_context(), self.limit + _GRACE))

    def fresh_context(self) -> Context:
        """The context of one call: its own deadline, and a secret that the tool is trusted with."""
        if self.context is not None:
            return self.context.for_call(self.limit)
        return Context(workspace=self.workspace, state={"api_token": self.secret}, timeout=self.limit)

    @contextlib.contextmanager
    def trusted(self) -> Generator[None]:
        """Put the secret where programs keep theirs, too."""
        before = os.environ.get(VARIABLE)
        os.environ[VARIABLE] = self.secret
        try:
            yield
        finally:
            if before is None:
                del os.environ[VARIABLE]
            else:
                os.environ[VARIABLE] = before
