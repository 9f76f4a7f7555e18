"""pydantic-ai: a toolset for its agents, and its toolsets, tools and functions as our tools."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Unpack

import pydantic_ai
from pydantic_ai import FunctionToolset, ModelResponse, RunContext, TextPart, ToolReturn
from pydantic_ai.capabilities import AbstractCapability, Hooks
from pydantic_ai.models.test import TestModel
from pydantic_ai.toolsets import AbstractToolset, ApprovalRequiredToolset
from pydantic_core import SchemaValidator, core_schema

from tools_adapters._bridge import BridgedTool, Options, block_of, bridge, content_of, foreign_tool, halt_in
from tools_core import Context, Result, Tool, ToolError, Tools
from tools_core.threads import run_coroutine


def to_pydantic_ai(tools: Tools, *, id: str | None = None, **options: Unpack[Options]) -> FunctionToolset[Any]:
    """Return an element of `Agent(toolsets=[...])`; see `Options` for `executor`, `context` and `approve`.

    The content of a result is returned, files included, with `result.to_dict()` as its metadata; a failure is a
    `ToolFailed`, which uses up no retries. The run of a call is the conversation. Progress is a `ToolProgress` event. A
    call that requires approval is deferred: the agent needs `DeferredToolRequests` among its output types, and the
    metadata of the request has the effects of the call. `pydantic_ai_halt()` is the capability that ends a run after a
    halt. `id` names the toolset, which durable execution needs.
    """
    toolset: FunctionToolset[Any] = FunctionToolset(id=id)
    for bridged in bridge(tools, **options):
        tool: Any = pydantic_ai.Tool.from_schema(
            partial(_call, bridged), bridged.name, bridged.description, bridged.schema, takes_ctx=True
        )
        # Theirs takes any JSON, and an array would end the run.
        tool.function_schema.validator = SchemaValidator(core_schema.dict_schema())
        toolset.add_tool(tool)
    return toolset


def from_pydantic_ai(tools: Any, *, deps: Any = None) -> list[Tool]:
    """Convert a pydantic-ai toolset, or a sequence of its tools and functions.

    A RunContext has `deps` and no agent. `ModelRetry` and `ToolFailed` are errors of the result. A tool that requires
    approval keeps this; one that asks for approval during the call is refused.
    """
    toolset: Any = tools if isinstance(tools, AbstractToolset) else FunctionToolset(list(tools))
    # The model stands in for an agent's.
    run: Any = RunContext(deps=deps, model=TestModel(), usage=pydantic_ai.RunUsage())
    tools_by_name: dict[str, Any] = run_coroutine(toolset.get_tools(run))
    result: list[Tool] = []
    for name, tool in tools_by_name.items():
        definition = tool.tool_def
        asks = definition.kind == "unapproved" or isinstance(toolset, ApprovalRequiredToolset)
        if asks or definition.kind == "function":  # others are not called by the agent
            body = partial(_call_theirs, toolset, tool, replace(run, tool_name=name, tool_call_approved=asks))
            result.append(foreign_tool(body, name, definition.description, definition.parameters_json_schema, asks))
    return result


def pydantic_ai_halt() -> AbstractCapability[Any]:
    """Return the capability that ends a run of text output after a tool halted: its content is the agent's output."""

    async def end_after_halt(ctx: Any, request_context: Any) -> Any:  # noqa: ARG001  (their signature)
        for part in request_context.messages[-1].parts:
            text = halt_in(getattr(part, "metadata", None))
            if text is not None:
                raise pydantic_ai.SkipModelRequest(ModelResponse(parts=[TextPart(text)]))
        return request_context

    return Hooks(before_model_request=end_after_halt)


@dataclass(kw_only=True)
class ToolProgress(pydantic_ai.CustomEvent):
    """The progress of a tool, in its own units."""

    done: float
    total: float | None
    message: str


# The positional-only parameters leave all names to the arguments.
async def _call(bridged: BridgedTool, ctx: Any, /, **arguments: Any) -> Any:
    loop, emitted = asyncio.get_running_loop(), []

    def report(done: float, total: float | None, message: str) -> None:  # from any thread
        event = ToolProgress(done=done, total=total, message=message)
        emitted.append(asyncio.run_coroutine_threadsafe(ctx.emit(event), loop))

    result = await bridged.acall(
        arguments,
        call_id=ctx.tool_call_id,
        run_id=ctx.conversation_id,
        on_progress=report,
        approved=ctx.tool_call_approved,
    )
    for event in emitted:
        with suppress(pydantic_ai.UserError):  # a toolset that is called outside of a run
            await asyncio.wrap_future(event)
    request = bridged.request_in(result)
    if request is not None:
        raise pydantic_ai.ApprovalRequired(metadata=dict(request))
    if not result.ok and not result.halted:  # what ends the run needs metadata
        raise pydantic_ai.ToolFailed(str(result) or result.error_type) from result.exception
    content = content_of(result, _part, "image", "audio", "application/pdf")
    return ToolReturn(content, metadata=result.to_dict())


def _part(part: Any) -> Any:
    return part if isinstance(part, str) else pydantic_ai.BinaryContent(part.data, media_type=part.mime_type)


async def _call_theirs(toolset: Any, theirs: Any, run: Any, arguments: dict[str, Any], context: Context) -> Result:
    call = replace(run, tool_call_id=context.call_id, run_id=context.run_id, conversation_id=context.run_id)
    try:
        valid = theirs.args_validator.validate_python(arguments)
        answer: Any = await toolset.call_tool(run.tool_name, valid, call, theirs)
    except (pydantic_ai.ModelRetry, pydantic_ai.ToolFailed) as error:
        raise ToolError(error.message) from error
    except pydantic_ai.ApprovalRequired as error:  # raised by a function, or by a toolset inside the given one
        raise ToolError(f"{run.tool_name} requires approval in its agent", "approval_required") from error
    if not isinstance(answer, ToolReturn):
        return Result.ok(_own(answer))
    value, more = _own(answer.return_value), _own(answer.content or [])
    content = [value, *(more if isinstance(more, list) else [more])] if more else None
    return Result.ok(value, content=content, metadata=answer.metadata if isinstance(answer.metadata, Mapping) else None)


def _own(value: Any) -> Any:
    """Return their files as blocks of ours, alone or in a list."""
    if getattr(value, "kind", None) == "binary":
        return block_of(value.data, value.media_type)
    return [_own(item) for item in value] if isinstance(value, list | tuple) else value
