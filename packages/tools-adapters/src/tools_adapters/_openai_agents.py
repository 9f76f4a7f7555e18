"""The OpenAI Agents SDK: function tools for its agents, and its function tools as ours."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Unpack
from weakref import WeakKeyDictionary

from agents import FunctionTool, ToolsToFinalOutputResult, get_current_trace
from agents.tool import invoke_function_tool, set_function_tool_failure_error_function
from agents.tool_context import ToolContext

from tools_adapters._bridge import BridgedTool, Options, block_of, bridge, content_of, foreign_tool, halt_in
from tools_core import Context, Result, Tool, Tools
from tools_core.formats import responses


def to_openai_agents(tools: Tools, **options: Unpack[Options]) -> list[FunctionTool]:
    """Return function tools for agents; see `Options` for `executor`, `context` and `approve`.

    A schema that can be strict is sent in its strict form. The output of a call is its content, pictures and PDFs
    included, and begins with "Error: " where the tool failed; `result.to_dict()` is the custom data of the output item.
    The run of a call is the group id of the run's trace, else the trace. A call that requires approval interrupts the
    run, see `RunState.approve`. `Agent(tool_use_behavior=openai_agents_halt())` ends a run after a halt.
    """
    return [_function_tool(tool) for tool in bridge(tools, **options)]


def from_openai_agents(tools: Iterable[Any], *, context: Any = None) -> list[Tool]:
    """Return tools of function tools.

    They receive `context` as that of the run. An exception is an error of the result, whatever the tool's
    `failure_error_function` makes of it for a model, and so is a time-out. A hosted tool, and one with
    guardrails, which only an agent runs, is a ValueError.
    """
    result: list[Tool] = []
    for tool in tools:
        if not isinstance(tool, FunctionTool) or tool.tool_input_guardrails or tool.tool_output_guardrails:
            raise ValueError(f"{tool.name} cannot run outside of an agent: it is hosted, or has guardrails")
        theirs = set_function_tool_failure_error_function(copy.copy(tool), None)
        theirs.timeout_behavior = "raise_exception"
        body, asks = partial(_call_theirs, theirs, context), tool.needs_approval is not False
        result.append(foreign_tool(body, tool.name, tool.description, _optional(tool.params_json_schema), asks))
    return result


def _optional(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema without the requirement of strict mode to name each parameter, also those with a default."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    required = [name for name in schema.get("required", ()) if not _has_default(properties.get(name, {}))]
    return {**schema, "required": required}


def _has_default(schema: Mapping[str, Any]) -> bool:
    return "default" in schema or {"type": "null"} in schema.get("anyOf", ()) or "null" in (schema.get("type") or ())


def openai_agents_halt() -> Callable[[Any, list[Any]], ToolsToFinalOutputResult]:
    """Return the `tool_use_behavior` that ends a run after a tool halted: its content is the final output."""

    def end_after_halt(context: Any, results: list[Any]) -> ToolsToFinalOutputResult:  # noqa: ARG001  (the SDK's)
        texts = [halt_in(getattr(result.run_item, "custom_data", None)) for result in results]
        halts = [text for text in texts if text is not None]
        return ToolsToFinalOutputResult(is_final_output=bool(halts), final_output=halts[0] if halts else None)

    return end_after_halt


def _function_tool(bridged: BridgedTool) -> FunctionTool:
    definition, results = bridged.strict, WeakKeyDictionary[Any, Result]()

    async def needs_approval(ctx: Any, arguments: dict[str, Any], call_id: str) -> bool:  # noqa: ARG001  (the signature of the framework)
        # Arguments that do not fit are refused without asking the user.
        result = await bridged.acall(arguments, strict=True)
        return bridged.request_in(result) is not None

    async def call(ctx: Any, text: str) -> Any:
        result = results[ctx] = await bridged.acall(
            text,
            strict=True,
            call_id=ctx.tool_call_id,
            run_id=_run_id(ctx),
            approved=bool(ctx.is_tool_approved(bridged.name, ctx.tool_call_id)),
        )
        content = content_of(result, _part, "image", "application/pdf")
        return content if result.ok else f"Error: {content}"

    def custom_data(about: Any) -> dict[str, Any] | None:
        result = results.get(about.tool_context)
        return None if result is None else result.to_dict()

    return FunctionTool(
        name=bridged.name,
        description=definition["description"],
        params_json_schema=definition["parameters"],
        on_invoke_tool=call,
        strict_json_schema=definition["strict"],
        needs_approval=needs_approval if bridged.needs_approval else False,
        custom_data_extractor=custom_data,
    )


def _part(part: Any) -> dict[str, Any]:
    """Write a part as the API has it, but without the prefix of its type, as the SDK wants it."""
    block = responses.content([part])[0]
    return {**block, "type": block["type"].removeprefix("input_")}


def _run_id(ctx: Any) -> str | None:
    trace: Any = get_current_trace()
    traced: str | None = getattr(trace, "trace_id", None)
    group: str | None = getattr(ctx.run_config, "group_id", None) or getattr(trace, "group_id", None)
    return group or (traced if traced != "no-op" else None)


async def _call_theirs(theirs: Any, state: Any, arguments: dict[str, Any], context: Context) -> Result:
    text = json.dumps(arguments)
    call_id = context.call_id or "call"
    ctx = ToolContext(context=state, tool_name=theirs.name, tool_call_id=call_id, tool_arguments=text)
    return Result.ok(_own(await invoke_function_tool(function_tool=theirs, context=ctx, arguments=text)))


def _own(value: Any) -> Any:
    """Return their parts as text and blocks of ours, alone or in a list."""
    if isinstance(value, list | tuple):
        return [_own(item) for item in value]
    part: Any = value.model_dump() if hasattr(value, "model_dump") else value
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind == "text" and "text" in part:
        return part["text"]
    url = (part.get("image_url") or part.get("file_data") or "") if kind in ("image", "file") else ""
    head, is_data, data = str(url).partition(";base64,")
    return block_of(data, head.removeprefix("data:")) if is_data else value
