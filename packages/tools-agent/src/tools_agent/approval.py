"""Answers to requests for approval that a session remembers, also in another process.

`tools_runtime.approval` has the view of a request and the possible answers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tools_runtime import approval, user_name
from tools_runtime.approval import Answer, answers_to

if TYPE_CHECKING:
    from tools_agent._session._session import Session
    from tools_core import Approval, ApprovalRequest, Denial
    from tools_runtime import Policy

__all__ = ["add_session_rules", "answers_to", "carry_out"]

_RULE = "rule "  # begins the keys of approvals that are rules


def carry_out(
    answer: Answer,
    request: ApprovalRequest,
    *,
    policy: Policy | None = None,
    session: Session | None = None,
    arguments: Mapping[str, Any] | None = None,
    reason: str = "",
) -> Approval | Denial:
    """Do what an answer says, as `tools_runtime.approval.carry_out`; `session` remembers a rule for the session."""
    decision = approval.carry_out(answer, request, policy=policy, arguments=arguments, reason=reason)
    if answer.kind == "session" and answer.rule is not None and policy is not None and session is not None:
        session.log.approve_key(_RULE + json.dumps(answer.rule), "", user_name())
    return decision


def add_session_rules(policy: Policy, session: Session) -> None:
    """Let the rules that a person approved for a session hold again, in another process."""
    for key in session.log.approved_keys:
        if key.startswith(_RULE):
            policy.add_rule(json.loads(key.removeprefix(_RULE)), save=False)
