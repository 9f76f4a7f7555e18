"""Plan mode: the model reads and writes a plan, and changes nothing until the user accepts it."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, NamedTuple

from tools_cli._commands.attachments import text_block
from tools_runtime import Policy
from tools_runtime.approval import Line, block

if TYPE_CHECKING:
    from tools_cli._terminal._prompt import Dialog

_REASON = "plan mode: only read until the user accepts the plan; describe this step in the plan instead"
_RULES = Policy([{"decision": "deny", "read_only": False, "reason": _REASON}], files=[], project=False).rules
PLAN_REQUEST = text_block(
    "The user wants a plan first. Read what you need. Calls that change something are refused until the user accepts "
    "the plan. Reply with the plan alone: the files and what changes in each, how it is checked, open questions.",
    "plan mode",
)


class PlanAnswer(NamedTuple):
    """The decision of the user about a plan, and the next prompt."""

    is_accepted: bool
    prompt: str


def planning_policy(policy: Policy) -> Policy:
    """Return a policy that refuses calls which do more than read, whatever the other rules allow."""
    planning = copy(policy)
    planning.rules = (*_RULES, *policy.rules)
    return planning


def ask_about_plan(plan: str, mode: str, dialog: Dialog) -> PlanAnswer | None:
    """Ask whether a plan is accepted; None if the user continues without an answer."""
    menu = f"y  carry it out, in mode {mode}\ne  edit it, then carry it out\nn  no, with what to change: n keep x"
    dialog.show([Line("text", ""), *block(f"{menu}\nEnter  continue to plan", "  ")])
    while (line := dialog.ask("accept the plan? ")) is not None:
        key, _, rest = line.strip().partition(" ")
        if key == "y":
            return PlanAnswer(is_accepted=True, prompt="I accept the plan. Carry it out.")
        if key == "e" and (plan := dialog.edit("plan", plan) or "").strip():
            return PlanAnswer(is_accepted=True, prompt=f"Carry out the plan as I have edited it:\n\n{plan.strip()}")
        if key == "n" and (reason := rest.strip() or (dialog.ask("what should change? ") or "").strip()):
            return PlanAnswer(is_accepted=False, prompt=reason)
        if not key:
            return None
        dialog.show(block(menu, "  "))
    return None
