"""`ToolChecks`: guardrails on the input and output of tools."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Sequence
from typing import Any

from tools_agent._guardrails import Block, Guardrail, Phase
from tools_agent._loop._frame import Frame
from tools_core import Context, Result, ToolCall
from tools_runtime import hookimpl

_log = logging.getLogger("tools_agent")


class ToolChecks:
    """The executor's plugin that passes calls, and their results, through the guardrails of an agent.

    It is inside the other hooks, so that it sees the call that will run and the whole result. It holds for the calls of
    sub-agents, too.
    """

    def __init__(self, guardrails: Sequence[Guardrail]) -> None:
        self._guardrails = guardrails
        kinds = [(guardrail, type(guardrail)) for guardrail in guardrails]
        self._input = [guard for guard, kind in kinds if kind.process_tool_input is not Guardrail.process_tool_input]
        self._output = [guard for guard, kind in kinds if kind.process_tool_output is not Guardrail.process_tool_output]

    def __bool__(self) -> bool:
        return bool(self._input or self._output)

    @hookimpl(trylast=True)
    def around_tool_call(self, call: ToolCall, context: Context) -> Generator[Any, Any, Result]:
        """Check a call and its result."""
        for guardrail in self._input:
            answer = self._ask(guardrail.process_tool_input, context, call)
            if isinstance(answer, Block):
                return self._block(guardrail, "tool_input", answer, context)
            if isinstance(answer, Result):
                return answer
            if answer is not None and not isinstance(answer, ToolCall):
                raise TypeError(f"process_tool_input returns None, a ToolCall, a Result or a Block, got {answer!r:.60}")
            call = call if answer is None else answer
        result: Result = yield call
        for guardrail in self._output:
            answer = self._checked(guardrail, call, result, context)
            if isinstance(answer, Block):
                return self._block(guardrail, "tool_output", answer, context)
            result = answer
        return result

    def _checked(self, guardrail: Guardrail, call: ToolCall, result: Result, context: Context) -> Result | Block:
        try:
            answer = self._ask(guardrail.process_tool_output, context, call, result)
        except Exception as error:  # noqa: BLE001  (a result that was not checked does not reach the model)
            _log.exception("process_tool_output of %s failed", guardrail.name)
            text = f"the result of {call.name} is withheld: {guardrail.name} failed with {type(error).__name__}"
            return Result.error(text, type="unavailable", exception=error)
        if isinstance(answer, Result | Block):
            return answer
        if answer is None:
            return result
        text = f"the result of {call.name} is withheld: {guardrail.name} returned {type(answer).__name__}"
        return Result.error(text, type="unavailable")

    def _ask(self, check: Callable[..., Any], context: Context, *values: Any) -> Any:
        frame = self._frame_of(context)
        return frame.wait_for(check, *values, frame.state, context=context)

    def _block(self, guardrail: Guardrail, phase: Phase, block: Block, context: Context) -> Result:
        """End the run whose guardrail this is, after this call."""
        frame = self._frame_of(context)
        frame.post(frame.block(guardrail, phase, block))
        return Result.halt(Result.error(f"blocked by {guardrail.name}: {block.reason}", type="denied"))

    def _frame_of(self, context: Context) -> Frame:
        """Return the run whose guardrails these are: that of the call, or a caller of it."""
        member: Any = context.caller
        while not (isinstance(member, Frame) and member.setup.guardrails is self._guardrails):
            member = member.outer
        return member
