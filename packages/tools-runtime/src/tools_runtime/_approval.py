"""Permission for a call: the decision of the policy, an earlier approval, or the answer of a user."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tools_core import Approval, ApprovalRequest, Context, Denial, InvalidArguments, Result, Tool, ToolCall
from tools_runtime._drive import Wait
from tools_runtime._events import describe_error, log
from tools_runtime._policy import Approvals, Decision
from tools_runtime._policy._facts import STRICTNESS, facts_of
from tools_runtime._timeouts import cancelled

if TYPE_CHECKING:
    from tools_runtime._call import Execution
    from tools_runtime._drive import Steps
    from tools_runtime._hooks import Hook

Approve: TypeAlias = Callable[[ApprovalRequest], Any] | Literal["all"]


class Approver:
    """Decides about calls with the plugins that implement `decide_tool_call`, and asks for approval if they require it.

    The strictest decision counts. Without one, a call needs approval if its tool requires it.

    Args:
        deciders: The hooks that decide.
        approve: A function that answers an ApprovalRequest, "all", or None: calls that need approval stay pending.
        approvals: The store of earlier answers.
    """

    def __init__(self, deciders: Sequence[Hook], approve: Approve | None, approvals: Approvals) -> None:
        self._deciders = deciders
        self._approve = approve
        self._approvals = approvals

    def permit(self, call: ToolCall, tool: Tool, execution: Execution) -> Steps[Approval | Result | None]:
        """Return the approval of a call, or None if it needs none; the error result if it must not run."""
        context = execution.context
        try:
            decision = self._decide(call, tool, context)
            if decision.outcome == "deny":
                return refused(decision, tool)
            if decision.outcome == "allow":
                return None
            request = self._request(decision, call, tool, context)
        except InvalidArguments as error:
            return Result.error(error.message, type=error.type)
        except Exception as error:  # noqa: BLE001  (the tool's own code failed: the effects are unknown)
            return refused(Decision("deny"), tool, f"its effects are unknown: {describe_error(error)}")
        answer = self._approvals.take(request)
        if isinstance(answer, Denial):
            return request.refusal(answer)
        if answer is not None:
            return answer
        approval = yield from self._ask(request)
        return approval if isinstance(approval, Result) else self._confirmed(approval, request, decision)

    def _confirmed(self, approval: Approval, request: ApprovalRequest, decision: Decision) -> Approval | Result:
        """Remember an approval, unless the call would now do something else than the user has seen."""
        call, context = request.call, request.context
        if approval.arguments is not None:
            call = ToolCall(call.id, call.name, approval.arguments)
        try:
            now = self._decide(call, request.tool, context)
            if now.outcome == "deny":
                return refused(now, request.tool)
            current = self._request(now, call, request.tool, context)
        except InvalidArguments as error:
            return Result.error(f"the approved arguments are invalid: {error.message}", type=error.type)
        except Exception as error:  # noqa: BLE001  (as above)
            return refused(decision, request.tool, f"its effects are unknown: {describe_error(error)}")
        if approval.arguments is None and current.key != request.key:
            return refused(decision, request.tool, "its effects changed during approval")
        approval = replace(approval, key=current.key)
        self._approvals.remember(current, approval)
        return approval

    def _decide(self, call: ToolCall, tool: Tool, context: Context) -> Decision:
        decisions: list[Decision] = []
        for hook in self._deciders:
            try:
                decision = hook.function(call, tool, context)
            except InvalidArguments:
                raise
            except Exception as error:  # noqa: BLE001  (a plugin that fails must not allow)
                log.exception("decide_tool_call of %s failed", hook.plugin)
                return Decision("deny", (f"it failed with {describe_error(error)}",), by=hook.plugin)
            if decision is not None:
                decisions.append(decision)
        if decisions:
            return max(decisions, key=lambda decision: STRICTNESS[decision.outcome])
        if tool.requires_approval:
            return Decision("ask", ("the tool requires approval",))
        return Decision("allow")

    def _request(self, decision: Decision, call: ToolCall, tool: Tool, context: Context) -> ApprovalRequest:
        """Return the request for exactly the call that will run."""
        facts = decision.facts or facts_of(call, tool, context, self._approvals.project)
        return ApprovalRequest(
            call, tool, facts.arguments, facts.effects, context, reasons=decision.reasons,
            scopes=self._approvals.scopes, key=f"{context.run_id}.{facts.hash}",
        )  # fmt: skip

    def _ask(self, request: ApprovalRequest) -> Steps[Approval | Result]:
        """Return the answer to a request; the error result if it is not an approval."""
        approve, context = self._approve, request.context
        if isinstance(approve, str):
            return Approval("once", 'approve="all"', request.key)
        if approve is None:
            return request.refusal(None)
        try:
            future = yield Wait(partial(approve, request), context, context.deadline)
            if future.done() and isawaitable(future.result()):
                future = yield Wait(_awaited(future.result()), context, context.deadline)
            if context.cancelled:
                return cancelled()
            by = getattr(approve, "__name__", None) or type(approve).__name__
            answer = request.read_answer(future.result() if future.done() else None, by)
        except Exception as error:  # noqa: BLE001  (the function is the user's own)
            log.exception("approve failed")
            return request.refusal(error)
        return answer if isinstance(answer, Approval) else request.refusal(answer)


async def _awaited(awaitable: Any) -> Any:
    return await awaitable


def refused(decision: Decision, tool: Tool, why: str = "") -> Result:
    """Return the result of a call that is denied; it tells the model that this is final."""
    because = why or "; ".join(decision.reasons)
    message = (
        f"{tool.name} was not run: {because} ({decision.by}). "
        "Do not work around this. Tell the user, or continue without it."
    )
    metadata = {"policy": {"decision": decision.outcome, "by": decision.by}}
    return Result.error(message, type="denied", metadata=metadata)
