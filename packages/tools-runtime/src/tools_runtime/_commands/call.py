"""`ask-tools call` under the user's policy: the entry point of the group `ask_tools.call`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_core import Result
from tools_core.command import note
from tools_runtime import Executor, Policy, PolicyError

if TYPE_CHECKING:
    from tools_core import Context, Tool, ToolCall
    from tools_runtime._approval import Approve


def make_call(tool: Tool, call: ToolCall, context: Context, approve: Approve | None = None) -> Result:
    """Run a call that a user typed: rules may deny it or require approval; without a match, typing it approved it."""
    try:
        policy = Policy(default="allow")
    except PolicyError as error:
        return Result.error(str(error), type="denied")
    for problem in policy.problems([tool]):
        note(f"warning: {problem}")
    with Executor([tool], runtime="inline", policy=policy, approve=approve, default_timeout=None) as executor:
        return executor.call(call, context)
