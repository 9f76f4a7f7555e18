"""`Decision`: whether a call may run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tools_runtime._policy._facts import Facts

Outcome = Literal["allow", "ask", "deny"]
Scope = Literal["once", "run", "project"]

STRICTNESS: Mapping[Outcome, int] = {"allow": 0, "ask": 1, "deny": 2}
SCOPES: Sequence[Scope] = ("once", "run", "project")


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome for one call, with its reasons, and the rule or plugin that decided."""

    outcome: Outcome
    reasons: Sequence[str] = ()
    by: str = "the default"
    facts: Facts | None = field(default=None, repr=False, compare=False)
