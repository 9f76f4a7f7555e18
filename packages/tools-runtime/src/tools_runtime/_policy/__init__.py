"""Decide about calls by rules: allow, ask or deny; and remember what was approved."""

from tools_runtime._events import PolicyError
from tools_runtime._policy._approvals import Approvals, user_name
from tools_runtime._policy._facts import Decision
from tools_runtime._policy._policy import Policy

__all__ = ["Approvals", "Decision", "Policy", "PolicyError", "user_name"]
