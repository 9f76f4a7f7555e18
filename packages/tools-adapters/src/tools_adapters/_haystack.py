"""Haystack: tools for its `Agent`, and tools of theirs."""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack

from haystack.dataclasses import FileContent, ImageContent, TextContent
from haystack.tools import Tool as HaystackTool
from haystack.tools import flatten_tools_or_toolsets, warm_up_tools
from haystack.tools.errors import ToolInvocationError

from tools_adapters._bridge import Options, Tools, block_of, bridge, content_of, foreign_tool, text_of
from tools_core import Context, Result, Tool, ToolError


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


def from_haystack(tools: Any) -> list[Tool]:
    """Return tools of Haystack's tools, component tools and toolsets: one toolset, or a list. They are warmed up."""
    warm_up_tools(tools)  # a lazy toolset has no tools before
    return [
        foreign_tool(partial(_call_theirs, tool), tool.name, tool.description, tool.parameters)
        for tool in flatten_tools_or_toolsets(tools)
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


async def _call_theirs(theirs: Any, arguments: dict[str, Any], context: Context) -> Any:  # noqa: ARG001
    try:
        output = await theirs.invoke_async(**arguments)
    except ToolInvocationError as error:
        raise (error.__cause__ or ToolError(str(error))) from None
    how = theirs.outputs_to_string or {}
    content = output[how["source"]] if "source" in how else output
    content = how["handler"](content) if "handler" in how else content
    return Result.ok(output, content=[_part(part) for part in content] if isinstance(content, list) else content)


def _part(content: Any) -> Any:
    """Return a picture or a file of Haystack as a block of ours, and other content unchanged."""
    if hasattr(content, "base64_image"):
        return block_of(content.base64_image, content.mime_type)
    if hasattr(content, "base64_data"):
        return block_of(content.base64_data, content.mime_type, content.filename)
    return getattr(content, "text", content)
