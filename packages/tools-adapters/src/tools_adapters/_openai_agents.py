"""The OpenAI Agents SDK: function tools for its agents, and its function tools as ours."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from tools_adapters._bridge import (
    Approve,
    Bridge,
    BridgedTool,
    Executor,
    Tools,
    block_of_url,
    extra,
    foreign_tool,
    halt_in,
    parts_of,
)
from tools_core import Context, Result, Tool
from tools_core.formats import responses, responses_strict

if TYPE_CHECKING:
    from agents import FunctionTool


def to_openai_agents(
    tools: Tools, *, executor: Executor | None = None, context: Context | None = None, approve: Approve | None = None
) -> list[FunctionTool]:
    """Make function tools: `Agent(name, tools=to_openai_agents(tools))`.

    A schema that can be strict is sent in its strict form. The output of a call is its content, pictures and PDFs
    included, and begins with "Error: " where the tool failed; `result.to_dict()` is the custom data of the output item.
    The run of a call is the group id of the run's trace, else the trace. A call that requires approval interrupts the
    run, see `RunState.approve`. `Agent(tool_use_behavior=openai_agents_halt())` ends a run after a halt.

    Args:
        tools: A registry or other mapping, a tool, a toolset, or a sequence of these.
        executor: Makes the calls, under its policy and hooks.
        context: Its workspace, state, deadline and progress apply to every call. The SDK itself has no progress.
        approve: "all", or a function that answers an `ApprovalRequest`, instead of the interruption.
    """
    bridge = Bridge(tools, executor=executor, context=context, approve=approve)
    with extra("openai-agents"):
        import agents as _  # noqa: F401  (named in the message if it is missing)
    return [_function_tool(each) for each in bridge.tools]


def from_openai_agents(tools: Iterable[Any], *, context: Any = None) -> list[Tool]:
    """Convert function tools, to call them directly, in an executor or over MCP.

    They receive `context` as that of the run. An exception is an error of the result, whatever the tool's
    `failure_error_function` makes of it for a model.
    """
    with extra("openai-agents"):
        from agents.tool import set_function_tool_failure_error_function
    made: list[Tool] = []
    for each in tools:
        theirs = set_function_tool_failure_error_function(copy.copy(each), None)
        made.append(
            foreign_tool(
                theirs.name,
                theirs.description,
                theirs.params_json_schema,
                partial(_call_theirs, theirs, context),
                requires_approval=theirs.needs_approval is not False,
            )
        )
    return made


def openai_agents_halt() -> Callable[[Any, list[Any]], Any]:
    """Make the `tool_use_behavior` that ends a run after a tool halted: its content is the final output."""
    with extra("openai-agents"):
        from agents import ToolsToFinalOutputResult

    def end_after_halt(context: Any, results: list[Any]) -> Any:  # noqa: ARG001  (the SDK's signature)
        for each in results:
            result = halt_in(getattr(each.run_item, "custom_data", None))
            if result is not None:
                return ToolsToFinalOutputResult(is_final_output=True, final_output=str(result))
        return ToolsToFinalOutputResult(is_final_output=False)

    return end_after_halt


def _function_tool(bridged: BridgedTool) -> FunctionTool:
    from agents import FunctionTool

    own = {**bridged.definition, "name": bridged.name}
    written = responses_strict.definitions([own])[0]
    results: WeakKeyDictionary[Any, Result] = WeakKeyDictionary()

    def arguments_of(text: str) -> Any:
        """Undo what the strict form did to the arguments."""
        item = {"type": "function_call", "name": bridged.name, "arguments": text}
        (call,) = responses_strict.calls(item, [own])
        return call.given

    async def needs_approval(ctx: Any, arguments: dict[str, Any], call_id: str) -> bool:  # noqa: ARG001
        # Arguments that do not fit are refused without asking the user.
        result = await bridged.acall(arguments_of(json.dumps(arguments)))
        return bridged.request_in(result) is not None

    async def call(ctx: Any, text: str) -> Any:
        result = results[ctx] = await bridged.acall(
            arguments_of(text),
            call_id=ctx.tool_call_id,
            run_id=_run_id(ctx),
            approved=bool(bridged.needs_approval and ctx.is_tool_approved(bridged.name, ctx.tool_call_id)),
        )
        parts = responses.content(parts_of(result, error="Error: "))
        # The SDK's names for the parts are those of the API without the prefix.
        output = [{**part, "type": part["type"].removeprefix("input_")} for part in parts]
        return output[0]["text"] if len(output) == 1 and output[0]["type"] == "text" else output

    def custom_data(about: Any) -> dict[str, Any] | None:
        result = results.get(about.tool_context)
        return None if result is None else result.to_dict()

    return FunctionTool(
        name=bridged.name,
        description=written["description"],
        params_json_schema=written["parameters"],
        on_invoke_tool=call,
        strict_json_schema=written["strict"],
        needs_approval=needs_approval if bridged.needs_approval else False,
        custom_data_extractor=custom_data,
    )


def _run_id(ctx: Any) -> str | None:
    from agents import get_current_trace

    trace: Any = get_current_trace()
    group: str | None = getattr(ctx.run_config, "group_id", None) or getattr(trace, "group_id", None)
    traced: str | None = getattr(trace, "trace_id", None)
    return group or (traced if traced != "no-op" else None)


async def _call_theirs(theirs: Any, given: Any, arguments: dict[str, Any], context: Context) -> Result:
    from agents.tool_context import ToolContext

    text = json.dumps(arguments)
    call_id = context.call_id or "call"
    ctx = ToolContext(context=given, tool_name=theirs.name, tool_call_id=call_id, tool_arguments=text)
    return Result.ok(_own(await theirs.on_invoke_tool(ctx, text)))


def _own(value: Any) -> Any:
    """Return their parts as text and blocks of ours, alone or in a list."""
    if isinstance(value, list | tuple):
        return [_own(item) for item in value]
    part: Any = value.model_dump(exclude_none=True) if hasattr(value, "model_dump") else value
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind == "text" and "text" in part:
        return part["text"]
    return (kind in ("image", "file") and block_of_url(part.get("image_url") or part.get("file_data"))) or value
