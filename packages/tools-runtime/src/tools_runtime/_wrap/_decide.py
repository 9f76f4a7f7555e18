"""The decision about a call, behind all layers: what was judged is what is made.

Several plugins may decide: the strictest decision counts. Without one, a call needs approval where its tool says so.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from tools_core import ApprovalRequest, InvalidArguments, Result, ToolCall
from tools_runtime._errors import describe_error, log
from tools_runtime._policy import Approval, Decision, Policy
from tools_runtime._policy._decision import STRICTNESS
from tools_runtime._wrap._effects import Blocking

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from typing import Literal

    from tools_core import Context, Tool

    Approve = Callable[[ApprovalRequest], Any] | Literal["all"]


class Judge:
    """Decides about calls with the plugins that implement `decide_tool_call`, and asks where they say so.

    `approve` is a function that answers an ApprovalRequest, "all", or None: then a call that needs approval is pending.
    """

    def __init__(
        self,
        deciders: Sequence[tuple[Callable[..., Any], str, Any]],
        approve: Approve | None,
        starters: Sequence[tuple[Callable[..., Any], str]] = (),
    ) -> None:
        self.deciders = deciders
        self.starters = starters
        self.is_needed = bool(deciders or starters)  # by calls that do not require approval
        self._approve = approve
        self._default: Policy | None = None

    def make(
        self, call: ToolCall, tool: Tool | None, context: Context, approved: list[tuple[ToolCall, Approval]]
    ) -> Generator[Any, Any, Result]:
        """Yield the call if it is allowed, and return its result; else return the refusal.

        `approved` collects what was approved while a call passes its layers: a call that is made again, as by Retry,
        is not asked about again.
        """
        if tool is None:  # its result says that there is no such tool
            result: Result = yield call
            return result
        approval = next((given for same, given in approved if same == call), None)
        if approval is None:
            try:
                decision = self._decide(call, tool, context)
            except InvalidArguments as error:
                return Result.error(error.message, type=error.type)
            if decision.outcome == "deny":
                return refused(decision, tool)
            approval = decision.approval
            if decision.outcome == "ask":
                answer = yield from self._ask(decision, tool, context)
                if isinstance(answer, Result):
                    return answer
                if self._has_changed(decision, call, tool, context):
                    return refused(decision, tool, "what it would touch changed while it was being approved")
                approval = answer
            if approval is not None:
                approved.append((call, approval))
        refusal = yield from self._start(call, tool, context)
        result = (yield call) if refusal is None else refusal
        return result if approval is None else result.with_metadata({"approval": asdict(approval)})

    def _start(self, call: ToolCall, tool: Tool, context: Context) -> Generator[Any, Any, Result | None]:
        """Tell plugins that an allowed call is about to be made; the refusal if one of them fails."""
        for start, plugin in self.starters:
            try:
                wait = start(call, tool, context)
                if wait is not None:
                    yield wait
            except Exception as error:  # noqa: BLE001  (what must come before the call did not)
                log.exception("start_tool_call of %s failed", plugin)
                message = f"the call was not made: start_tool_call of {plugin} failed with {describe_error(error)}"
                return Result.error(message, type="unavailable")
        return None

    def _decide(self, call: ToolCall, tool: Tool, context: Context) -> Decision:
        decisions: list[Decision] = []
        for decide, plugin, _ in self.deciders:
            try:
                decision = decide(call, tool, context)
            except InvalidArguments:
                raise
            except Exception as error:  # noqa: BLE001  (a plugin that fails must not allow)
                log.exception("decide_tool_call of %s failed", plugin)
                return Decision("deny", (f"it failed with {describe_error(error)}",), by=plugin)
            if decision is not None:
                decisions.append(decision)
        if decisions:
            return max(decisions, key=lambda decision: STRICTNESS[decision.outcome])
        if not tool.requires_approval:
            return Decision("allow", (), by="the default")
        if self._default is None:
            self._default = Policy(files=(), project=False, default="allow")
        return self._default.decide_tool_call(call, tool, context) or Decision("allow")

    def _has_changed(self, decision: Decision, call: ToolCall, tool: Tool, context: Context) -> bool:
        """Return whether the call would now do something else than what was approved, as when a link was changed."""
        now = self._decide(call, tool, context)
        shown = None if decision.request is None else decision.request.key
        key = now.approval.key if now.approval is not None else None if now.request is None else now.request.key
        return now.outcome == "deny" or key != shown

    def _ask(self, decision: Decision, tool: Tool, context: Context) -> Generator[Any, Any, Approval | Result]:
        """Have a call approved; the result where it is not."""
        request = decision.request or ApprovalRequest(
            ToolCall(None, tool.name), tool, {}, tool.effects({}, context), context, reasons=decision.reasons
        )
        approve = self._approve
        if approve is None:
            return pending(request)
        if isinstance(approve, str):
            return Approval("once", 'approve="all"', request.key)
        try:
            answer = yield Blocking(partial(approve, request), context.remaining)
            if isawaitable(answer):
                answer = yield answer
            approval = _approval(answer, request, self._approve)
        except Exception as error:  # noqa: BLE001  (the function is the user's own)
            log.exception("approve failed")
            return refused(decision, tool, f"approve failed with {describe_error(error)}")
        if context.cancelled:
            return Result.error("the call was cancelled before it was approved", type="cancelled")
        if answer is None:
            return pending(request)
        if approval is None:
            return refused(decision, tool, "it was not approved")
        for plugin in (*(plugin for _, _, plugin in self.deciders), self._default):
            if isinstance(plugin, Policy):
                plugin.remember(request, approval)
        return approval


def pending(request: ApprovalRequest) -> Result:
    """The result of a call that waits for approval."""
    reasons = f" ({'; '.join(request.reasons)})" if request.reasons else ""
    message = f"{request.tool.name} needs approval{reasons}; the call was not made"
    return Result.error(message, type="approval_required", metadata={"pending": request.to_dict()})


def refused(decision: Decision, tool: Tool, why: str = "") -> Result:
    """The result of a call that is denied; it tells the model that this is final."""
    because = why or "; ".join(decision.reasons)
    message = (
        f"{tool.name} was not called: {because} ({decision.by}). "
        "Do not try to reach the same by other means; tell the user, or go on without it."
    )
    metadata = {"policy": {"decision": decision.outcome, "by": decision.by}}
    return Result.error(message, type="denied", metadata=metadata)


def _approval(answer: Any, request: ApprovalRequest, approve: Any) -> Approval | None:
    """Return the answer of `approve` as an Approval; None for a refusal."""
    if answer is False or answer is None:
        return None
    if isinstance(answer, Approval):
        return answer if answer.key else replace(answer, key=request.key)
    scope: Any = "once" if answer is True else answer
    if scope not in request.scopes:
        raise ValueError(
            f"approve returned {answer!r}; it returns True, False, None, or one of {', '.join(request.scopes)}"
        )
    return Approval(scope, getattr(approve, "__name__", None) or type(approve).__name__, request.key)
