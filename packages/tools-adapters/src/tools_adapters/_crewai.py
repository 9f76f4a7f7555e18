"""CrewAI: tools for its agents."""

from __future__ import annotations

import copy
from typing import Any, Unpack

from crewai.tools import BaseTool, ToolFailure
from pydantic import BaseModel, Field, PrivateAttr

from tools_adapters._bridge import Options, bridge, text_of
from tools_core import Result, Tools


def to_crewai(tools: Tools, **options: Unpack[Options]) -> list[BaseTool]:
    """Make CrewAI tools; see `Options` for `executor`, `context` and `approve`.

    CrewAI calls tools synchronously and gives the model text alone: pictures are described. It sends each schema in
    strict mode, so optional parameters become nullable, and nulls are dropped before a call. A failure is a
    `ToolFailure` with the error type as its code, and the result of a halt is the agent's answer. No result is cached.
    Calls that require approval are refused without `approve` or an executor.
    """
    return [
        AskTool(
            name=tool.name,
            description=tool.description,
            args_schema=_arguments_model(tool.strict["parameters"]),
            cache_function=_is_cached,
            bridged=tool,
        )
        for tool in bridge(tools, **options)
    ]


class AskTool(BaseTool):
    """A tool of ours; its arguments model has no fields, so CrewAI validates nothing before we do."""

    bridged: Any = Field(exclude=True, repr=False)
    _structured: list[Any] = PrivateAttr(default_factory=list)

    def _run(self, **arguments: Any) -> Any:
        return self._output(self.bridged.call(arguments, strict=True))

    async def _arun(self, **arguments: Any) -> Any:
        return self._output(await self.bridged.acall(arguments, strict=True))

    def _output(self, result: Result) -> Any:
        for tool in (self, *self._structured):  # CrewAI reads either after the call
            tool.result_as_answer = result.halted
        if result.ok or result.halted:  # CrewAI takes no failure for the answer
            return text_of(result)
        return ToolFailure(message=text_of(result), code=result.error_type)

    def to_structured_tool(self) -> Any:
        """Make the object that agents without native tool calls use."""
        tool = super().to_structured_tool()
        self._structured.append(tool)
        return tool


def _is_cached(*_: Any) -> bool:  # in the module: CrewAI warns of other functions
    return False  # a later call may have another result, or an effect


def _arguments_model(schema: dict[str, Any]) -> Any:
    class Arguments(BaseModel, extra="allow"):
        @classmethod
        def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
            return copy.deepcopy(schema)

    return Arguments
