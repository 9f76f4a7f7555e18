"""Permission for a call: the decision of the policy, an earlier approval, or the answer of a user."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tools_core import Approval, ApprovalRequest, Context, Denial, InvalidArguments, Result, Tool, ToolCall
from tools_runtime._drive import Wait
from tools_runtime._events import describe_error, log
from tools_runtime._policy import Approvals, Decision
from tools_runtime._policy._facts import STRICTNESS, facts_of
from tools_runtime._timeouts import cancelled

if TYPE_CHECKING:
    from tools_runtime._drive import Steps
    from tools_runtime._hooks import Hook

Approve: TypeAlias = Callable[[ApprovalRequest], Any] | Literal["all"]
_GRACE = 0.25  # seconds for a coroutine that was cancelled


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
        self.approve: Approve | None = approve
        self.approvals = approvals

    def permit(self, call: ToolCall, tool: Tool, context: Context) -> Steps[Approval | Result | None]:
        """Return the approval of a call, or None if it needs none; the error result if it must not run."""
        request = self._judge(call, tool, context)
        if not isinstance(request, ApprovalRequest):
            return request
        answer = self.approvals.take(request)
        if answer is not None:
            return request.refusal(answer) if isinstance(answer, Denial) else answer
        approval = yield from self._ask(request)
        return (yield from self._confirmed(approval, request)) if isinstance(approval, Approval) else approval

    def _judge(self, call: ToolCall, tool: Tool, context: Context) -> ApprovalRequest | Result | None:
        """Return the request for exactly this call, None if it needs no approval, or the result of its refusal."""
        try:
            decision = self.decide(call, tool, context)
            if decision.outcome == "deny":
                return _refused(tool, "; ".join(decision.reasons), decision.by)
            if decision.outcome == "allow":
                return None
            facts = decision.facts or facts_of(call, tool, context, self.approvals.project)
        except InvalidArguments as error:
            return Result.error(error.message, type=error.type)
        except Exception as error:  # noqa: BLE001  (the tool's own code failed: the effects are unknown)
            return _refused(tool, f"its effects are unknown: {describe_error(error)}")
        return ApprovalRequest(
            call, tool, facts.arguments, facts.effects, context, reasons=decision.reasons,
            scopes=self.approvals.scopes, key=self.approvals.key_of(context, facts.hash),
        )  # fmt: skip

    def decide(self, call: ToolCall, tool: Tool, context: Context) -> Decision:
        """Return the strictest decision about a call, before answers. Raises InvalidArguments."""
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

    def _ask(self, request: ApprovalRequest) -> Steps[Approval | Result]:
        """Return the answer to a request; the error result if it is not an approval."""
        approve, context = self.approve, request.context
        if isinstance(approve, str):
            return Approval("once", 'approve="all"', request.key)
        if approve is None:
            return request.refusal(None)
        try:
            work = approve(request) if iscoroutinefunction(approve) else partial(approve, request)
            value = yield from _wait(work, context)
            if isawaitable(value):
                value = yield from _wait(_awaited(value), context)
            if context.cancelled:
                return cancelled()
            answer = request.read_answer(value, getattr(approve, "__name__", None) or type(approve).__name__)
        except Exception as error:  # noqa: BLE001  (the function is the user's own)
            log.exception("approve failed")
            return request.refusal(error)
        return answer if isinstance(answer, Approval) else request.refusal(answer)

    def _confirmed(self, approval: Approval, request: ApprovalRequest) -> Steps[Approval | Result | None]:
        """Remember an approval, unless the call would now do something else than the user has seen."""
        call, is_edited = request.call, approval.arguments is not None
        if is_edited:
            call = ToolCall(call.id, call.name, approval.arguments)
        current = self._judge(call, request.tool, request.context)
        if isinstance(current, Result):
            if is_edited and current.error_type == "validation_error":
                return Result.error(f"the approved arguments are invalid: {current}", type="validation_error")
            return current
        if current is None:  # the edited call needs no approval
            return replace(approval, key=request.key)
        if not is_edited and current.key != request.key:
            return _refused(request.tool, "its effects changed during approval")
        approval = replace(approval, key=current.key)
        remembering: Any = self.approvals.remember(current, approval)
        if isawaitable(remembering):  # it writes to a store
            (yield Wait(_awaited(remembering))).result()
        return approval


def _wait(work: Any, context: Context) -> Steps[Any]:
    """Return an answer, or None at the deadline and after a cancellation; a coroutine ends then."""
    future = yield Wait(work, context, context.deadline)
    if not future.done() and future.cancel():
        yield Wait(future, None, monotonic() + _GRACE)
    return future.result() if future.done() and not future.cancelled() else None


async def _awaited(awaitable: Any) -> Any:
    return await awaitable


def _refused(tool: Tool, reason: str, by: str = "the default") -> Result:
    """Return the result of a call that is denied; it tells the model that this is final."""
    message = (
        f"{tool.name} was not run: {reason} ({by}). Do not work around this. Tell the user, or continue without it."
    )
    return Result.error(message, type="denied", metadata={"policy": {"decision": "deny", "by": by}})
