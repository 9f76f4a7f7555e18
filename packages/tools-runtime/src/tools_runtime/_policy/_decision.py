"""Decisions about calls, and approvals of calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from tools_runtime._policy._facts import Facts

Outcome = Literal["allow", "ask", "deny"]
Scope = Literal["once", "run", "project"]

STRICTNESS: Mapping[Outcome, int] = {"allow": 0, "ask": 1, "deny": 2}
SCOPES: Sequence[Scope] = ("once", "run", "project")


@dataclass(frozen=True, slots=True)
class Approval:
    """An answer that allows a call.

    `scope` says for how long, `by` which user gave it, and `key` which `ApprovalRequest.key` it is for. With
    `arguments` the call runs with these instead of its own; they are validated, and rules decide about them.
    """

    scope: Scope = "once"
    by: str = ""
    key: str = ""
    arguments: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Denial:
    """An answer that denies a call, with a reason for the model."""

    by: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome for one call, with its reasons, and the rule or plugin that decided."""

    outcome: Outcome
    reasons: Sequence[str] = ()
    by: str = "the default"
    facts: Facts | None = field(default=None, repr=False, compare=False)
