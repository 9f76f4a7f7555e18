"""Decisions about calls, and approvals of calls that were asked about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools_core import ApprovalRequest

Outcome = Literal["allow", "ask", "deny"]
Scope = Literal["once", "run", "project"]

STRICTNESS: Mapping[Outcome, int] = {"allow": 0, "ask": 1, "deny": 2}
SCOPES: Sequence[Scope] = ("once", "run", "project")


class PolicyError(ValueError):
    """A policy or an approval that cannot be relied on; the message names the file and what would work."""


@dataclass(frozen=True, slots=True)
class Approval:
    """An answer that allows a call: for how long, given by which user, for which `ApprovalRequest.key`."""

    scope: Scope
    by: str
    key: str


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome for one call, with its reasons and the rule or user that decided.

    `request` is set when the outcome is "ask"; `approval` when the call is allowed because it was approved earlier.
    """

    outcome: Outcome
    reasons: Sequence[str] = ()
    by: str = "the default"
    request: ApprovalRequest | None = None
    approval: Approval | None = None
