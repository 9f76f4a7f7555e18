"""Haystack: tools for its `Agent`."""

from __future__ import annotations

from typing import Any, Unpack

from haystack.dataclasses import FileContent, ImageContent, TextContent
from haystack.tools import Tool as HaystackTool
from haystack.tools.errors import ToolInvocationError

from tools_adapters._bridge import Options, bridge, content_of, text_of
from tools_core import Result, Tools


def to_haystack(tools: Tools, **options: Unpack[Options]) -> list[HaystackTool]:
    """Make Haystack tools; see `Options` for `executor`, `context` and `approve`.

    Pictures and PDFs go to the model, a failure has `error` set, and a halt ends the run with the exit reason
    "halted by NAME". In `run_async` cancelling the run cancels a tool. Calls that require approval are refused without
    `approve` or an executor; pass `approve="all"` if a `ConfirmationHook` of the agent confirms them. Pipelines
    with these tools cannot be serialized.
    """
    return [
        AskTool(
            name=tool.name,
            description=tool.description,
            parameters=tool.schema,
            function=tool.call,
            async_function=tool.acall,
            outputs_to_string={"source": "content", "raw_result": True},
            outputs_to_state={"stop_run": {"source": "stop_run"}},
        )
        for tool in bridge(tools, **options)
    ]


class AskTool(HaystackTool):
    """A tool of ours; its errors reach the model without the arguments that Haystack repeats in them."""

    def invoke(self, **arguments: Any) -> Any:
        return _output(self.name, self.function(arguments))

    async def invoke_async(self, **arguments: Any) -> Any:
        return _output(self.name, await self.async_function(arguments))


def _output(name: str, result: Result) -> dict[str, Any]:
    if not result.ok and not result.halted:
        raise ToolInvocationError(text_of(result), tool_name=name) from result.exception
    answer = {"content": content_of(result, _content, "image", "application/pdf")}
    return answer | ({"stop_run": f"halted by {name}"} if result.halted else {})


def _content(part: Any) -> Any:
    if isinstance(part, str):
        return TextContent(part)
    data = part.to_dict()["data"]
    return ImageContent(data, part.mime_type) if part.kind == "image" else FileContent(data, part.mime_type, part.name)
