"""`ApprovalRequest`: a call that needs approval; its answers, and the call if it is approved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, TypeAlias, cast

from tools_core._execution._outcome import fail
from tools_core._tools._tool import Tool
from tools_core._values._context import Context, process_context
from tools_core._values._effects import Effects
from tools_core._values._result import Result
from tools_core._values._tool_call import ToolCall


@dataclass(frozen=True, slots=True)
class Approval:
    """An answer that allows a call.

    `scope` says for how long, `by` which user gave it, and `key` which `ApprovalRequest.key` it is for. With
    `arguments` the call runs with these instead of its own; they are validated, and rules decide about them.
    """

    scope: Literal["once", "run", "project"] = "once"
    by: str = ""
    key: str = ""
    arguments: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Denial:
    """An answer that denies a call, with a reason for the model."""

    by: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ApprovalRequest:
    """A call that needs approval: passed to `approve=`, and part of the result of a pending call.

    `arguments` are as the tool receives them, `effects` are what the call would touch, `reasons` say why approval is
    needed. `scopes` lists the answers that allow the call: "once", and "run" and "project" if a policy remembers
    answers. `key` identifies the request in its run.
    """

    call: ToolCall
    tool: Tool
    arguments: Mapping[str, Any]
    effects: Effects
    context: Context
    _: KW_ONLY
    reasons: Sequence[str] = ()
    scopes: Sequence[str] = ("once",)
    key: str = ""

    @property
    def run_id(self) -> str:
        """The run that the call belongs to."""
        return self.context.run_id

    def to_dict(self) -> dict[str, Any]:
        """Return the request as plain JSON, to be approved later or by another process."""
        workspace = self.context.workspace
        return {
            "key": self.key,
            "run_id": self.run_id,
            "call_id": self.call.id,
            "tool": self.tool.name,
            "arguments": dict(self.arguments),
            "effects": self.effects.to_dict(),
            "workspace": None if workspace is None else str(workspace),
            "reasons": list(self.reasons),
            "scopes": list(self.scopes),
        }

    def read_answer(self, answer: object, by: str = "") -> Approval | Denial | None:
        """Return what `approve` answered as a value; None leaves the call pending.

        Raises: ValueError for an answer that is neither True, False, None, a scope, an Approval nor a Denial.
        """
        if answer is None or isinstance(answer, Approval | Denial):
            return answer
        if answer is False:
            return Denial(by)
        scope = "once" if answer is True else answer
        if scope not in self.scopes:
            names = ", ".join(map(repr, self.scopes))
            raise ValueError(f"approve returned {answer!r}; return True, False, None, {names}, an Approval or a Denial")
        return Approval(cast("Any", scope), by, self.key)

    def refusal(self, answer: Denial | Exception | None) -> Result:
        """Return the result of a call that is denied, that stays pending, or whose approver failed."""
        name = self.tool.name
        if answer is None:
            reasons = f": {'; '.join(self.reasons)}" if self.reasons else ""
            message = f"{name} needs approval by the user and was not run{reasons}."
            hint = 'pass approve="all", or a function that returns True to allow a call'  # for developers
            metadata = {"pending": self.to_dict(), "hint": hint}
            return Result.error(message, type="approval_required", metadata=metadata)
        if isinstance(answer, Denial):
            reason = f": {answer.reason}" if answer.reason else ""
            advice = "Do not work around this. Tell the user, or continue without it."
            return Result.error(f"{name} was not approved{reason}. {advice}", type="denied")
        message = f"{name} was not run: approve failed with {type(answer).__name__}: {answer}"
        return Result.error(message, type="unavailable", exception=answer)

    def __repr__(self) -> str:
        return f"ApprovalRequest({self.tool.name!r}, {dict(self.arguments)!r}, run_id={self.run_id!r})"


# A coroutine function for `acall`. It returns True, "once" or an Approval, False or a Denial, or None.
Approve: TypeAlias = Callable[[ApprovalRequest], object] | Literal["all"] | None


def call_if_approved(tool: Tool, call: ToolCall, context: Context | None, approve: Approve) -> Result:
    """Call a tool; if it requires approval, ask for it first, and call the tool only if the answer allows it."""
    if approve == "all":
        return tool.call(call, _approved_context(context))
    if not tool.requires_approval:
        return tool.call(call, context)
    request = _request(tool, call, context, approve)
    if isinstance(request, Result):
        return request
    answer = _ask(approve, request)
    if hasattr(answer, "__await__"):
        if hasattr(answer, "close"):
            answer.close()  # else Python warns that it was never awaited
        raise TypeError("approve is a coroutine function: use acall")
    approved = _approved(request, answer)
    return approved if isinstance(approved, Result) else tool.call(approved, _approved_context(request.context))


async def acall_if_approved(tool: Tool, call: ToolCall, context: Context | None, approve: Approve) -> Result:
    """`call_if_approved` for coroutines."""
    if approve == "all":
        return await tool.acall(call, _approved_context(context))
    if not tool.requires_approval:
        return await tool.acall(call, context)
    request = _request(tool, call, context, approve)
    if isinstance(request, Result):
        return request
    answer = _ask(approve, request)
    if hasattr(answer, "__await__"):
        try:
            answer = await answer
        except Exception as error:  # noqa: BLE001  (as in _ask)
            answer = error
    approved = _approved(request, answer)
    return approved if isinstance(approved, Result) else await tool.acall(approved, _approved_context(request.context))


def _approved_context(context: Context | None) -> Context:
    context = (context or process_context()).for_call()
    context.approved = True
    return context


def _request(tool: Tool, call: ToolCall, context: Context | None, approve: Approve) -> ApprovalRequest | Result:
    """Return the request for approval; the result of the call if it is invalid."""
    if approve is not None and not callable(approve):
        raise TypeError(f'approve must be "all", a function of an ApprovalRequest, or None; got {approve!r}')
    context = process_context() if context is None else context
    try:
        arguments = tool.valid_arguments(call)
        effects = tool.effects(arguments, context)
    except Exception as error:  # noqa: BLE001  (invalid arguments, or the tool's own code)
        return fail(error)
    return ApprovalRequest(call, tool, arguments, effects, context, reasons=["the tool requires approval"])


def _ask(approve: Any, request: ApprovalRequest) -> Any:
    """Return the answer, which may be a coroutine or the exception of a failed approver."""
    try:
        return None if approve is None else approve(request)
    except Exception as error:  # noqa: BLE001  (a failed approver allows nothing)
        return error


def _approved(request: ApprovalRequest, answer: object) -> ToolCall | Result:
    """Return the call that the answer allows; the result of a call that it does not allow."""
    call = request.call
    try:
        approval = answer if isinstance(answer, Exception) else request.read_answer(answer)
    except ValueError as error:
        approval = error
    if not isinstance(approval, Approval):
        return request.refusal(approval)
    return call if approval.arguments is None else ToolCall(call.id, call.name, approval.arguments)
