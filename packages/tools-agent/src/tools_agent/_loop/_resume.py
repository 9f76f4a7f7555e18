"""Resume tool calls whose outcome an earlier run left unknown: verify, repeat or close them, or ask first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tools_agent._loop._frame import Frame
from tools_core import Context, InvalidArguments, Result, ToolCall

_UNKNOWN = (
    "The program ended while this call ran: its outcome is unknown, and the call was not repeated. "
    "Check its effects before you repeat it."
)
_VERIFIED = "The call had its effect. The program ended before it received the result."


async def resumed(frame: Frame, calls: Sequence[ToolCall], context: Context) -> list[tuple[ToolCall, Result | None]]:
    """Return each call that may run with None, and each call that must not run again with its result.

    A call that an earlier run started may have had its effect. It runs again if that is harmless, or if the tool named
    by `verify` finds no effect. Calls that wait for an answer of the user, or for their result, do not run.
    """
    log = frame.session.log
    pairs: list[tuple[ToolCall, Result | None]] = []
    for call in calls:
        state = log.state(call.id)
        if state.question is not None and frame.inherited("on_ask") is None:
            continue
        if state.pending is not None and state.pending.get("external"):
            continue
        if state.attempts <= state.attempts_settled or _is_repeatable(frame, call, context):
            pairs.append((call, None))
            continue
        result = await _verify(frame, call, context)
        if result is not None:
            pairs.append((call, None if not result.output else _verified(result)))
        elif frame.setup.on_unknown != "ask":
            pairs.append((call, Result.error(_UNKNOWN, type="outcome_unknown")))
        elif state.pending is None or not state.pending.get("was_started"):
            await frame.write(log.ask_approval, call.id or "", _request(call))
    return pairs


def _is_repeatable(frame: Frame, call: ToolCall, context: Context) -> bool:
    """Return whether running a call twice has the same effect as running it once."""
    tool = frame.setup.tools.get(call.name)
    if tool is None:  # it is no longer installed
        return False
    try:
        hints: Mapping[str, bool] = tool.effects(call.arguments, context).annotations
    except Exception:  # noqa: BLE001  (the tool's own code)
        return False
    return hints.get("read_only", False) or hints.get("idempotent", False)


async def _verify(frame: Frame, call: ToolCall, context: Context) -> Result | None:
    """Return the result of the tool named by `verify`, or None without one, and if it fails."""
    tool = frame.setup.tools.get(call.name)
    verifier = None if tool is None or tool.verify is None else frame.setup.tools.get(tool.verify)
    if verifier is None or not verifier.annotations.get("read_only"):
        return None
    try:
        arguments = {name: value for name, value in call.arguments.items() if name in verifier.parameters}
    except InvalidArguments:
        return None
    inner = context.for_call(call_id=call.id)  # with the same idempotency key
    inner.on_ask = None
    result = await frame.executor.acall(ToolCall(None, verifier.name, arguments), inner)
    return result if result.ok else None


def _verified(result: Result) -> Result:
    return Result.ok(_VERIFIED) if result.output is True else result


def _request(call: ToolCall) -> dict[str, Any]:
    """Return the request for approval of a call that an earlier run started."""
    try:
        arguments = call.arguments
    except InvalidArguments:
        arguments = {}
    reasons = ["the program ended while it ran: running it again may repeat its effects"]
    return {
        "key": "", "call_id": call.id, "tool": call.name, "arguments": arguments, "reasons": reasons,
        "was_started": True,
    }  # fmt: skip
