"""llm, the command and library: tools for its models, and tools of its plugins."""

from __future__ import annotations

import asyncio
from functools import partial
from inspect import Parameter, Signature, iscoroutinefunction, signature
from typing import TYPE_CHECKING, Any

from tools_adapters._bridge import (
    Approve,
    Bridge,
    BridgedTool,
    Executor,
    Tools,
    block_of,
    extra,
    foreign_tool,
    parts_of,
    text_of,
)
from tools_core import Context, Result, Tool, ToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import llm

_TYPES = {"string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict}


def to_llm(
    tools: Tools,
    *,
    executor: Executor | None = None,
    context: Context | None = None,
    approve: Approve | None = None,
    asynchronous: bool = False,
) -> list[llm.Tool]:
    """Make tools for `model.chain(..., tools=to_llm(...))`.

    Pictures, sound and PDFs become attachments, a failure is the exception of its `ToolResult`, and a halt raises
    `llm.PauseChain` out of the chain, with our `result`.

    Args:
        tools: A registry or other mapping, a tool, a toolset, or a sequence of these.
        executor: Makes the calls, under its policy and hooks.
        context: Its workspace, state, deadline, progress and run id apply to every call.
        approve: "all", or a function that answers an `ApprovalRequest`; without it calls that require approval are
            refused.
        asynchronous: Make coroutine functions, of which an `AsyncModel` runs several at once. A `Model` can call these
            only where no event loop is running, so not in a notebook.
    """
    bridge = Bridge(tools, executor=executor, context=context, approve=approve)
    with extra("llm"):
        from llm import Tool as LlmTool

    return [
        LlmTool(
            each.name,
            each.description,
            each.schema,
            _async_implementation_of(each) if asynchronous else implementation_of(each, each.call),
        )
        for each in bridge.tools
    ]


def from_llm(tools: Iterable[Any]) -> list[Tool]:
    """Make tools of llm's tools, toolboxes and functions; `from_llm(llm.get_tools().values())` takes all plugins.

    An exception becomes an error, and `llm.PauseChain` a halt with an error.
    """
    with extra("llm"):
        from llm import Tool as LlmTool
        from llm import Toolbox

    made: list[Tool] = []
    for each in tools:
        given = each() if isinstance(each, type) else each
        if isinstance(given, Toolbox):
            given.prepare()
            found = list(given.tools())
        else:
            found = [given if isinstance(given, LlmTool) else LlmTool.function(given)]
        made += [foreign_tool(x.name, x.description or "", x.input_schema, partial(_call_theirs, x)) for x in found]
    return made


def implementation_of(bridged: BridgedTool, call: Callable[[dict[str, Any]], Result]) -> Any:
    """Make the function that llm calls, with the signature that `llm tools list` shows."""

    def implementation(**arguments: Any) -> Any:
        return _output(call(arguments))

    implementation.__signature__ = _signature(bridged.schema)  # type: ignore[attr-defined]
    return implementation


def _async_implementation_of(bridged: BridgedTool) -> Any:
    async def implementation(**arguments: Any) -> Any:
        return _output(await bridged.acall(arguments))

    implementation.__signature__ = _signature(bridged.schema)  # type: ignore[attr-defined]
    return implementation


def _signature(schema: Mapping[str, Any]) -> Signature:
    made: list[Parameter] = []
    for name, each in schema["properties"].items():
        if name.isidentifier():
            kind = each.get("type") if isinstance(each, dict) else None
            default = Parameter.empty if name in schema.get("required", ()) else each.get("default")
            hint = _TYPES.get(kind, Parameter.empty) if isinstance(kind, str) else Parameter.empty
            made.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint))
    return Signature(made)


def _output(result: Result) -> Any:
    from llm import Attachment, ToolOutput

    if result.halted:
        from llm import PauseChain  # the plugin meets older versions, too

        pause = PauseChain(text_of(result))
        pause.result = result
        raise pause
    if not result.ok:
        raise ToolError(text_of(result), result.error_type or "execution_error") from result.exception
    attachments = [
        Attachment(type=part.mime_type, content=part.data)
        for part in parts_of(result)
        if not isinstance(part, str) and (part.kind != "file" or part.mime_type == "application/pdf")
    ]
    return ToolOutput(text_of(result), attachments)


async def _call_theirs(theirs: Any, arguments: dict[str, Any], context: Context) -> Any:
    from llm import PauseChain, ToolCall, ToolOutput

    given = dict(arguments)
    if "llm_tool_call" in signature(theirs.implementation).parameters:  # a name that llm reserves
        given["llm_tool_call"] = ToolCall(theirs.name, arguments, context.call_id)
    try:
        if iscoroutinefunction(theirs.implementation):
            output = await theirs.implementation(**given)
        else:
            output = await asyncio.to_thread(theirs.implementation, **given)
    except PauseChain as pause:
        return Result.halt(Result.error(str(pause) or f"{theirs.name} paused the chain", type="interrupted"))
    if not isinstance(output, ToolOutput):
        return output
    blocks = [block_of(each.content_bytes(), each.resolve_type()) for each in output.attachments]
    return [output.output, *blocks] if blocks else output.output
