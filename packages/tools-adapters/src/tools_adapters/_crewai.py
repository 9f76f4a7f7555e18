"""CrewAI: tools for its agents, and tools of theirs."""

from __future__ import annotations

import copy
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from tools_adapters._bridge import Approve, Bridge, BridgedTool, Executor, Tools, extra, foreign_tool, text_of
from tools_core import Context, Result, Tool
from tools_core.formats import openai_strict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crewai.tools import BaseTool


def to_crewai(
    tools: Tools, *, executor: Executor | None = None, context: Context | None = None, approve: Approve | None = None
) -> list[BaseTool]:
    """Make CrewAI tools: `Agent(..., tools=to_crewai(...))`.

    CrewAI calls tools synchronously and gives the model text alone: pictures are described. It sends each schema in
    strict mode, so optional parameters become nullable, and nulls are dropped before a call. A failure is a
    `ToolFailure` with the error type as its code, and the result of a halt is the agent's answer. No result is cached.

    Args:
        tools: A registry or other mapping, a tool, a toolset, or a sequence of these.
        executor: Makes the calls, under its policy and hooks.
        context: Its workspace, state, deadline, progress and run id apply to every call.
        approve: "all", or a function that answers an `ApprovalRequest`; without it calls that require approval are
            refused.
    """
    bridge = Bridge(tools, executor=executor, context=context, approve=approve)
    with extra("crewai"):
        made = _tool_class()
    return [
        made(
            name=each.name,
            description=each.description,
            args_schema=_arguments_model(each),
            cache_function=_never,
            bridged=each,
        )
        for each in bridge.tools
    ]


def from_crewai(tools: Iterable[Any]) -> list[Tool]:
    """Make tools of CrewAI's tools, those of `crewai-tools` included; one with `result_as_answer` halts."""
    return [
        foreign_tool(each.name, each.description, each.args_schema.model_json_schema(), partial(_call_theirs, each))
        for each in tools
    ]


@cache
def _tool_class() -> Any:
    from crewai.tools import BaseTool, ToolFailure
    from pydantic import Field, PrivateAttr

    class AskTool(BaseTool):
        """A tool of ours; its arguments model has no fields, so CrewAI validates nothing before we do."""

        bridged: Any = Field(exclude=True, repr=False)
        _structured: list[Any] = PrivateAttr(default_factory=list)

        def _run(self, **arguments: Any) -> Any:
            return self._output(self.bridged.call(_without_absent(self.bridged, arguments)))

        async def _arun(self, **arguments: Any) -> Any:
            return self._output(await self.bridged.acall(_without_absent(self.bridged, arguments)))

        def _output(self, result: Result) -> Any:
            for each in (self, *self._structured):  # read after the call, from the one or the other
                each.result_as_answer = result.halted
            if result.ok or result.halted:  # CrewAI takes no failure for the answer
                return text_of(result)
            return ToolFailure(message=text_of(result), code=result.error_type)

        def to_structured_tool(self) -> Any:
            """Make the object that agents without native tool calls use."""
            made = super().to_structured_tool()
            self._structured.append(made)
            return made

    return AskTool


def _arguments_model(bridged: BridgedTool) -> Any:
    from pydantic import BaseModel

    (definition,) = openai_strict.definitions([bridged.definition])
    schema = {"properties": {}, **definition["function"]["parameters"]}

    class Arguments(BaseModel, extra="allow"):
        @classmethod
        def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
            return copy.deepcopy(schema)

    return Arguments


def _without_absent(bridged: BridgedTool, arguments: dict[str, Any]) -> dict[str, Any]:
    """Drop the nulls that stand for absent arguments in strict mode."""
    function = {"name": bridged.name, "arguments": arguments}
    message = {"tool_calls": [{"id": "", "type": "function", "function": function}]}
    return openai_strict.calls(message, [bridged.definition])[0].arguments


def _never(_arguments: Any = None, _result: Any = None) -> bool:
    """Keep no result: a later call with the same arguments may have another one, or an effect."""
    return False


def _call_theirs(theirs: Any, arguments: dict[str, Any], context: Context) -> Result:  # noqa: ARG001
    from crewai.tools import ToolFailure

    output = theirs.run(**arguments)
    if isinstance(output, ToolFailure):
        return Result.error(output.message, type=output.code or "execution_error")
    made = Result.halt if theirs.result_as_answer else Result.ok
    return made(output, content=theirs.format_output_for_agent(output))
