"""Agno: a toolkit for agents and teams, and tools of theirs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from functools import partial
from inspect import isasyncgenfunction, iscoroutinefunction
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
    parts_of,
    text_of,
)
from tools_core import Context, Result, Tool
from tools_core.formats import mcp

if TYPE_CHECKING:
    from agno.tools import Function, Toolkit


def to_agno(
    tools: Tools, *, executor: Executor | None = None, context: Context | None = None, approve: Approve | None = None
) -> Toolkit:
    """Make an Agno toolkit: `Agent(tools=[to_agno(...)])`.

    It has the tools twice, for `run` and for `arun`, in which cancelling the run cancels a tool. A tool that requires
    approval requires confirmation: the run pauses. Pictures, sound and files go beside the text, a failure is a
    tool call error, and a halt ends the run. The run of a call is the session id.

    Args:
        tools: A registry or other mapping, a tool, a toolset, or a sequence of these.
        executor: Makes the calls, under its policy and hooks.
        context: Its workspace, state, deadline and progress apply to every call.
        approve: "all", or a function that answers an `ApprovalRequest`, instead of the pause.
    """
    bridge = Bridge(tools, executor=executor, context=context, approve=approve)
    with extra("agno"):
        from agno.tools import Toolkit

    made = Toolkit(name="ask_tools")
    for each in bridge.tools:
        made.functions[each.name] = _function(each, _run(each))
        made.async_functions[each.name] = _function(each, _arun(each))
    return made


def from_agno(tools: Iterable[Any]) -> list[Tool]:
    """Make tools of Agno's toolkits, functions made with its `@tool`, and plain functions.

    A function that requires confirmation requires approval, and one that stops its agent halts. A function that needs
    the user's input, or that is executed elsewhere, is a ValueError.
    """
    with extra("agno"):
        from agno.tools import Function, Toolkit

    made: list[Tool] = []
    for each in tools:
        given = list(each.get_async_functions().values()) if isinstance(each, Toolkit) else [each]
        for one in given:
            function = one.model_copy(deep=True) if isinstance(one, Function) else Function.from_callable(one)
            function.process_entrypoint()
            if function.entrypoint is None or function.external_execution or function.requires_user_input:
                raise ValueError(f"{function.name} cannot run outside of an Agno agent: it waits for its user")
            made.append(
                foreign_tool(
                    function.name, function.description or "", function.parameters, partial(_call_theirs, function),
                    requires_approval=bool(function.requires_confirmation),
                )
            )  # fmt: skip
    return made


def _function(bridged: BridgedTool, entrypoint: Callable[..., Any]) -> Function:
    from agno.tools import Function

    return Function(
        name=bridged.name,
        description=bridged.description,
        parameters=bridged.schema,
        strict=False,
        annotations=mcp.definitions([bridged.definition])[0].get("annotations"),
        entrypoint=entrypoint,
        skip_entrypoint_processing=True,  # else Agno derives a schema, and validates the arguments before we do
        requires_confirmation=bridged.needs_approval or None,
        post_hook=_stop_after_halt,
    )


def _run(bridged: BridgedTool) -> Callable[..., Any]:
    def run(_agno_run_context: Any = None, fc: Any = None, **arguments: Any) -> Any:  # Agno fills the first two
        return _output(bridged.call(**_request(bridged, arguments, _agno_run_context, fc)))

    return run


def _arun(bridged: BridgedTool) -> Callable[..., Any]:
    async def run(_agno_run_context: Any = None, fc: Any = None, **arguments: Any) -> Any:  # as above
        return _output(await bridged.acall(**_request(bridged, arguments, _agno_run_context, fc)))

    return run


def _request(bridged: BridgedTool, arguments: dict[str, Any], run: Any, call: Any) -> dict[str, Any]:
    from agno.tools import FunctionCall

    if call is not None and not isinstance(call, FunctionCall):  # an argument of the tool, which is called `fc` as well
        arguments, call = {**arguments, "fc": call}, None
    return {
        "arguments": arguments,
        "call_id": None if call is None else call.call_id,
        "run_id": None if run is None else run.session_id,
        "approved": bridged.needs_approval,  # Agno pauses before such a call
    }


def _output(result: Result) -> Any:
    from agno.exceptions import RetryAgentRun, StopAgentRun  # both end the call alone, with an error that is not logged
    from agno.media import Audio as TheirAudio
    from agno.media import File as TheirFile
    from agno.media import Image as TheirImage
    from agno.tools.function import ToolResult

    if not result.ok:
        raise (StopAgentRun if result.halted else RetryAgentRun)(text_of(result)) from result.exception
    made = ToolResult(content=text_of(result), metadata={"halted": True} if result.halted else None)
    blocks = [part for part in parts_of(result) if not isinstance(part, str)]
    made.images = [TheirImage(content=x.data, mime_type=x.mime_type) for x in blocks if x.kind == "image"] or None
    made.audios = [TheirAudio(content=x.data, mime_type=x.mime_type) for x in blocks if x.kind == "audio"] or None
    made.files = [
        TheirFile(content=x.data, mime_type=x.mime_type, filename=x.name)
        for x in blocks
        if x.kind == "file" and x.mime_type in TheirFile.valid_mime_types() and as_text(x) == str(x)
    ] or None
    return made


def _stop_after_halt(fc: Any) -> None:
    """End the run of a call that halted; its function is a copy that Agno made for this run."""
    if (getattr(fc.result, "metadata", None) or {}).get("halted"):
        fc.function.stop_after_tool_call = True


async def _call_theirs(function: Any, arguments: dict[str, Any], context: Context) -> Result:
    from agno.exceptions import AgentRunException
    from agno.tools import FunctionCall

    call = FunctionCall(function=function, arguments=arguments, call_id=context.call_id)
    try:
        if iscoroutinefunction(function.entrypoint) or isasyncgenfunction(function.entrypoint):
            done = await call.aexecute()
        else:
            done = await asyncio.to_thread(call.execute)
    except AgentRunException as error:
        failure = Result.error(str(error))
        return Result.halt(failure) if error.stop_execution else failure
    if done.status != "success":
        return Result.error(done.error or f"{function.name} failed")
    content = await _content(done.result)
    return (Result.halt if function.stop_after_tool_call else Result.ok)(content)


async def _content(value: Any) -> Any:
    """Return the output of a function as Agno gives it to the model, with blocks for pictures, sound and files."""
    from agno.tools.function import ToolResult

    if isinstance(value, AsyncIterator):
        return "".join([str(item) async for item in value])
    if isinstance(value, Iterator):
        return "".join(map(str, value))
    if not isinstance(value, ToolResult):
        return value
    media = [*(value.images or ()), *(value.audios or ()), *(value.files or ())]
    blocks = [block_of(each.get_content_bytes(), each.mime_type) for each in media]
    return [value.content, *blocks] if blocks else value.content
