"""pydantic-ai: a toolset for its agents, and its toolsets, tools and functions as our tools."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from tools_adapters._bridge import (
    Approve,
    Bridge,
    BridgedTool,
    Executor,
    Tools,
    as_text,
    block_of,
    extra,
    foreign_tool,
    halt_in,
    parts_of,
)
from tools_core import Context, Result, Tool, ToolError
from tools_core.threads import run_coroutine

if TYPE_CHECKING:
    from concurrent.futures import Future

    from pydantic_ai import FunctionToolset
    from pydantic_ai.capabilities import AbstractCapability

    from tools_core._values._content import Block


def to_pydantic_ai(
    tools: Tools,
    *,
    executor: Executor | None = None,
    context: Context | None = None,
    approve: Approve | None = None,
    id: str | None = None,
) -> FunctionToolset[Any]:
    """Make a toolset: `Agent(model, toolsets=[to_pydantic_ai(tools)])`.

    The content of a result is returned, files included, with `result.to_dict()` as its metadata; a failure is a
    `ToolFailed`, which uses up no retries. The run of a call is the conversation. Progress is a custom event of the
    name "tool_progress". A call that requires approval is deferred: the agent needs `DeferredToolRequests` among its
    output types, and the metadata of the request has the effects of the call. `pydantic_ai_halt()` is the capability
    that ends a run after a halt.

    Args:
        tools: A registry or other mapping, a tool, a toolset, or a sequence of these.
        executor: Makes the calls, under its policy and hooks.
        context: Its workspace, state, deadline and progress apply to every call.
        approve: "all", or a function that answers an `ApprovalRequest`, instead of deferring the call.
        id: The id of the toolset, which durable execution needs.
    """
    bridge = Bridge(tools, executor=executor, context=context, approve=approve)
    with extra("pydantic-ai"):
        from pydantic_ai import FunctionToolset
        from pydantic_ai import Tool as TheirTool
        from pydantic_core import SchemaValidator, core_schema
    made: list[Any] = []
    for each in bridge.tools:
        made.append(TheirTool.from_schema(_function(each), each.name, each.description, each.schema, takes_ctx=True))
        # Theirs takes any JSON, and an array would end the run.
        made[-1].function_schema.validator = SchemaValidator(core_schema.dict_schema())
    return FunctionToolset(made, id=id)


def from_pydantic_ai(tools: Any, *, deps: Any = None) -> list[Tool]:
    """Convert a pydantic-ai toolset, or a sequence of its tools and functions.

    A RunContext has `deps` and no agent. `ModelRetry` and `ToolFailed` are errors of the result.
    """
    with extra("pydantic-ai"):
        from pydantic_ai import FunctionToolset, RunContext, RunUsage
        from pydantic_ai.models.test import TestModel
        from pydantic_ai.toolsets import AbstractToolset
    toolset: Any = tools if isinstance(tools, AbstractToolset) else FunctionToolset(list(tools))
    run: Any = RunContext(deps=deps, model=TestModel(), usage=RunUsage())
    found: dict[str, Any] = run_coroutine(toolset.get_tools(run))
    return [
        foreign_tool(
            name,
            each.tool_def.description or "",
            each.tool_def.parameters_json_schema,
            partial(_call_theirs, each, run),
            requires_approval=each.tool_def.kind == "unapproved",
        )
        for name, each in found.items()
        if each.tool_def.kind in ("function", "unapproved")  # others are not called by the agent
    ]


def pydantic_ai_halt() -> AbstractCapability[Any]:
    """Make the capability that ends a run after a tool halted: the content of its result is the agent's output.

    The agent's output has to be text.
    """
    with extra("pydantic-ai"):
        from pydantic_ai import ModelResponse, SkipModelRequest, TextPart
        from pydantic_ai.capabilities import Hooks

    async def end_after_halt(ctx: Any, request_context: Any) -> Any:  # noqa: ARG001  (their signature)
        for part in request_context.messages[-1].parts:
            result = halt_in(getattr(part, "metadata", None))
            if result is not None:
                raise SkipModelRequest(ModelResponse(parts=[TextPart(str(result))]))
        return request_context

    made: AbstractCapability[Any] = Hooks(before_model_request=end_after_halt)
    return made


def _function(bridged: BridgedTool) -> Callable[..., Any]:
    from pydantic_ai import ApprovalRequired, BinaryContent, ToolFailed, ToolReturn, UserError

    event = _progress_event()

    def carried(part: str | Block) -> Any:
        if isinstance(part, str) or (part.kind == "file" and part.mime_type != "application/pdf"):
            return as_text(part)
        return BinaryContent(part.data, media_type=part.mime_type)

    # The positional-only parameter leaves all names to the arguments.
    async def call(ctx: Any, /, **arguments: Any) -> Any:
        loop = asyncio.get_running_loop()
        emitted: list[Future[None]] = []

        async def emit(done: float, total: float | None, message: str) -> None:
            with suppress(UserError):  # a toolset that is called outside of a run
                await ctx.emit(event(done=done, total=total, message=message))

        def report(*facts: Any) -> None:  # from any thread
            emitted.append(asyncio.run_coroutine_threadsafe(emit(*facts), loop))

        result = await bridged.acall(
            arguments,
            call_id=ctx.tool_call_id,
            run_id=ctx.conversation_id,
            on_progress=report,
            approved=ctx.tool_call_approved,
        )
        for each in emitted:
            await asyncio.wrap_future(each)
        request = bridged.request_in(result)
        if request is not None:
            raise ApprovalRequired(metadata=dict(request))
        if not result.ok:
            raise ToolFailed(str(result) or result.error_type) from result.exception
        parts = [carried(part) for part in parts_of(result)]
        return ToolReturn(parts[0] if len(parts) == 1 else parts, metadata=result.to_dict())

    return call


@cache
def _progress_event() -> Any:
    from pydantic_ai import CustomEvent

    @dataclass(kw_only=True)
    class ToolProgress(CustomEvent):
        """The progress of a tool, in its own units."""

        done: float
        total: float | None
        message: str

    return ToolProgress


async def _call_theirs(theirs: Any, run: Any, arguments: dict[str, Any], context: Context) -> Result:
    from pydantic import ValidationError
    from pydantic_ai import ApprovalRequired, CallDeferred, ModelRetry, ToolFailed, ToolReturn

    name: str = theirs.tool_def.name
    made = replace(
        run,
        tool_name=name,
        tool_call_id=context.call_id,
        run_id=context.run_id,
        conversation_id=context.run_id,
        tool_call_approved=theirs.tool_def.kind == "unapproved",
    )
    try:
        valid = theirs.args_validator.validate_python(arguments)
        answer: Any = await theirs.toolset.call_tool(name, valid, made, theirs)
    except ValidationError as error:
        raise ToolError(str(error), "validation_error") from error
    except (ModelRetry, ToolFailed) as error:
        raise ToolError(error.message) from error
    except (ApprovalRequired, CallDeferred) as error:
        raise ToolError(f"{name} defers this call, which is only possible in pydantic-ai", "unavailable") from error
    if not isinstance(answer, ToolReturn):
        return Result.ok(_own(answer))
    extra_content: Any = answer.content or ()
    content = [extra_content] if isinstance(extra_content, str) else list(extra_content)
    value = _own(answer.return_value)
    metadata = answer.metadata if isinstance(answer.metadata, Mapping) else None
    return Result.ok(value, content=[value, *map(_own, content)] if content else None, metadata=metadata)


def _own(value: Any) -> Any:
    """Return their files as blocks of ours, alone or in a list."""
    if getattr(value, "kind", None) == "binary":
        return block_of(value.data, value.media_type)
    return [_own(item) for item in value] if isinstance(value, list | tuple) else value
