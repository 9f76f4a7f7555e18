"""Haystack: tools for its `Agent`, and tools of theirs."""

from __future__ import annotations

import asyncio
import base64
from functools import cache, partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from tools_adapters._bridge import (
    Approve,
    Bridge,
    BridgedTool,
    Executor,
    Progress,
    Tools,
    as_text,
    block_of,
    extra,
    foreign_tool,
    parts_of,
    text_of,
)
from tools_core import Context, Result, Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from haystack.tools import Tool as HaystackTool

    from tools_core._values._content import Block


def to_haystack(
    tools: Tools,
    *,
    executor: Executor | None = None,
    context: Context | None = None,
    approve: Approve | None = None,
    confirm: Any = None,
) -> list[HaystackTool]:
    """Make Haystack tools: `Agent(chat_generator=..., tools=to_haystack(...))`.

    Pictures and PDFs go to the model, a failure has `error` set, and a halt ends the run with the exit reason
    "halted by NAME". In `run_async` cancelling the run cancels a tool. With `tool_streaming_callback_passthrough`,
    progress arrives as empty chunks with `meta["progress"]`. Pipelines with these tools cannot be serialized.

    Args:
        tools: A registry or other mapping, a tool, a toolset, or a sequence of these.
        executor: Makes the calls, under its policy and hooks.
        context: Its workspace, state, deadline, progress and run id apply to every call.
        approve: "all", or a function that answers an `ApprovalRequest`.
        confirm: A `ConfirmationStrategy` of Haystack, which is asked about calls that require approval; it may change
            their arguments. Without this and `approve` they are refused.
    """
    bridge = Bridge(tools, executor=executor, context=context, approve=approve)
    with extra("haystack"):
        made = _tool_class()
    return [
        made(
            name=each.name,
            description=each.description,
            parameters=each.schema,
            function=_run(each, confirm),
            async_function=_arun(each, confirm),
            outputs_to_string={"source": "content", "raw_result": True},
            outputs_to_state={"stop_run": {"source": "stop_run"}},
        )
        for each in bridge.tools
    ]


def from_haystack(tools: Any) -> list[Tool]:
    """Make tools of Haystack's tools, component tools and toolsets: one toolset, or a list."""
    with extra("haystack"):
        from haystack.tools import flatten_tools_or_toolsets

    return [
        foreign_tool(each.name, each.description, each.parameters, partial(_call_theirs, each))
        for each in flatten_tools_or_toolsets(tools)
    ]


@cache
def _tool_class() -> Any:
    from haystack.tools import Tool as HaystackTool

    class AskTool(HaystackTool):
        """A tool of ours; its errors reach the model without the arguments that Haystack repeats in them."""

        def invoke(self, **arguments: Any) -> Any:
            return self.function(**arguments)

        async def invoke_async(self, **arguments: Any) -> Any:
            return await self.async_function(**arguments)

    return AskTool


def _run(bridged: BridgedTool, confirm: Any) -> Callable[..., Any]:
    def run(streaming_callback: Any = None, **arguments: Any) -> Any:  # Haystack fills the first
        on_progress = _progress(bridged, streaming_callback, None)
        result = bridged.call(arguments, on_progress=on_progress)
        if (asked := _question(bridged, result, confirm)) is not None:
            decision = confirm.run(**asked)
            result = _denied(bridged, decision)
            if decision.execute:
                result = bridged.call(decision.final_tool_params, on_progress=on_progress, approved=True)
        return _output(bridged, result)

    return run


def _arun(bridged: BridgedTool, confirm: Any) -> Callable[..., Any]:
    async def run(streaming_callback: Any = None, **arguments: Any) -> Any:  # as above
        on_progress = _progress(bridged, streaming_callback, asyncio.get_running_loop())
        result = await bridged.acall(arguments, on_progress=on_progress)
        if (asked := _question(bridged, result, confirm)) is not None:
            decision = await confirm.run_async(**asked)
            result = _denied(bridged, decision)
            if decision.execute:
                result = await bridged.acall(decision.final_tool_params, on_progress=on_progress, approved=True)
        return _output(bridged, result)

    return run


def _progress(bridged: BridgedTool, send: Any, loop: asyncio.AbstractEventLoop | None) -> Progress | None:
    if send is None:
        return None
    from haystack.dataclasses import StreamingChunk

    def report(done: float, total: float | None, message: str) -> None:
        facts = {"done": done, "total": total, "message": message}
        sent = send(StreamingChunk(content="", meta={"tool_name": bridged.name, "progress": facts}))
        if loop is not None and isawaitable(sent):
            asyncio.run_coroutine_threadsafe(sent, loop)  # type: ignore[arg-type]  # Haystack's callback is a coroutine function

    return report


def _question(bridged: BridgedTool, result: Result, confirm: Any) -> dict[str, Any] | None:
    """Return what to ask of the confirmation strategy; None where nothing is to be asked."""
    request = None if confirm is None else bridged.request_in(result)
    if request is None:
        return None
    return {
        "tool_name": bridged.name,
        "tool_description": bridged.description,
        "tool_params": request["arguments"],
    }


def _denied(bridged: BridgedTool, decision: Any) -> Result:
    return Result.error(decision.feedback or f"{bridged.name} was not approved", type="denied")


def _output(bridged: BridgedTool, result: Result) -> dict[str, Any]:
    from haystack.dataclasses import TextContent
    from haystack.tools.errors import ToolInvocationError

    if not result.ok and not result.halted:
        raise ToolInvocationError(text_of(result), tool_name=bridged.name) from result.exception
    blocks = [_content(part) for part in parts_of(result)]
    is_text = all(isinstance(block, TextContent) for block in blocks)
    made: dict[str, Any] = {"content": text_of(result) if is_text else blocks}
    return made | ({"stop_run": f"halted by {bridged.name}"} if result.halted else {})


def _content(part: str | Block) -> Any:
    from haystack.dataclasses import FileContent, ImageContent, TextContent

    if not isinstance(part, str):
        data = part.to_dict()["data"]
        if part.kind == "image":
            return ImageContent(data, part.mime_type)
        if part.mime_type == "application/pdf":
            return FileContent(data, part.mime_type, part.name)
    return TextContent(as_text(part))


async def _call_theirs(theirs: Any, arguments: dict[str, Any], context: Context) -> Any:  # noqa: ARG001
    from haystack.tools.errors import ToolInvocationError

    try:
        output = await theirs.invoke_async(**arguments)
    except ToolInvocationError as error:
        return Result.error(str(error.__cause__ or error))
    how = theirs.outputs_to_string or {}
    if not how.keys() & {"source", "handler", "raw_result"}:
        shown = {name: _shown(each, output) for name, each in how.items()}
        return Result.ok(output, content=shown or None)
    shown = _shown(how, output)
    return Result.ok(output, content=[_part(each) for each in shown] if isinstance(shown, list) else shown)


def _shown(how: Mapping[str, Any], output: Any) -> Any:
    value = output[how["source"]] if "source" in how else output
    return how["handler"](value) if "handler" in how else value


def _part(content: Any) -> Any:
    """Return a picture or a file of Haystack as a block of ours, and other content as it is."""
    if hasattr(content, "base64_image"):
        return block_of(base64.b64decode(content.base64_image), content.mime_type)
    if hasattr(content, "base64_data"):
        return block_of(base64.b64decode(content.base64_data), content.mime_type, content.filename)
    return getattr(content, "text", content)
