"""`ApprovalRequest`: a call that needs approval, and the call if it is approved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, TypeAlias

from tools_core._execution._outcome import fail
from tools_core._tools._tool import Tool
from tools_core._values._context import Context, process_context
from tools_core._values._effects import Effects
from tools_core._values._result import Result
from tools_core._values._tool_call import ToolCall


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

    def __repr__(self) -> str:
        return f"ApprovalRequest({self.tool.name!r}, {dict(self.arguments)!r}, run_id={self.run_id!r})"


# A coroutine function for `acall`. True or "once" allows the call, None leaves it pending, other answers deny it.
Approve: TypeAlias = Callable[[ApprovalRequest], object] | Literal["all"] | None


def call_if_approved(tool: Tool, call: ToolCall, context: Context | None, approve: Approve) -> Result:
    """Call a tool; if it requires approval, ask for it first, and call the tool only if the answer allows it."""
    if not tool.requires_approval or approve == "all":
        return tool.call(call, context)
    request = _request(tool, call, context, approve)
    if isinstance(request, Result):
        return request
    answer = _ask(approve, request)
    if hasattr(answer, "__await__"):
        if hasattr(answer, "close"):
            answer.close()  # else Python warns that it was never awaited
        raise TypeError("approve is a coroutine function: use acall")
    refusal = _refusal(request, answer)
    return tool.call(call, request.context) if refusal is None else refusal


async def acall_if_approved(tool: Tool, call: ToolCall, context: Context | None, approve: Approve) -> Result:
    """`call_if_approved` for coroutines."""
    if not tool.requires_approval or approve == "all":
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
    refusal = _refusal(request, answer)
    return await tool.acall(call, request.context) if refusal is None else refusal


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


def _refusal(request: ApprovalRequest, answer: object) -> Result | None:
    """Return the result of a call that the answer does not allow."""
    name = request.tool.name
    if answer is True or answer == "once":
        return None
    if answer is None:
        hint = 'pass approve="all" to registry.call, or a function that returns True to allow a call'  # for developers
        metadata = {"pending": request.to_dict(), "hint": hint}
        message = f"{name} needs approval by the user and was not run."
        return Result.error(message, type="approval_required", metadata=metadata)
    if isinstance(answer, Exception):
        message = f"{name} was not run: approve failed with {type(answer).__name__}: {answer}"
        return Result.error(message, type="unavailable", exception=answer)
    return Result.error(f"{name} was not approved", type="denied")
