"""Agno: a toolkit for agents and teams, and tools of theirs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from functools import partial
from inspect import isasyncgenfunction, iscoroutinefunction
from itertools import chain
from typing import Any, Unpack

from agno.exceptions import AgentRunException, RetryAgentRun, StopAgentRun
from agno.media import Audio, File, Image
from agno.tools import Function, FunctionCall, Toolkit
from agno.tools.function import ToolResult

from tools_adapters._bridge import BridgedTool, Options, Tools, block_of, bridge, foreign_tool, parts_of, text_of
from tools_core import Context, Result, Tool


def to_agno(tools: Tools, **options: Unpack[Options]) -> Toolkit:
    """Return an Agno toolkit for `Agent(tools=[...])`; see `Options` for `executor`, `context` and `approve`.

    It has the tools twice, for `run` and for `arun`, in which cancelling the run cancels a tool. A tool that requires
    approval requires confirmation: the run pauses. Pictures, sound and PDFs go beside the text, a failure is a tool
    call error, and a halt ends the run with its text, unless the run paused for its call. The run of a call is the
    session id.
    """
    toolkit = Toolkit(name="ask_tools")
    for tool in bridge(tools, **options):
        toolkit.functions[tool.name] = _function(tool)
        toolkit.async_functions[tool.name] = _function(tool, is_async=True)
    return toolkit


def from_agno(tools: Iterable[Any]) -> list[Tool]:
    """Return tools of Agno's toolkits, functions made with its `@tool`, and plain functions.

    A function that requires confirmation requires approval, and one that stops its agent halts. A function that needs
    the user's input, or that is executed elsewhere, is a ValueError.
    """
    result: list[Tool] = []
    functions = [tool.get_async_functions().values() if isinstance(tool, Toolkit) else [tool] for tool in tools]
    for item in chain.from_iterable(functions):
        function = item.model_copy(deep=True) if isinstance(item, Function) else Function.from_callable(item)
        function.process_entrypoint()
        if function.entrypoint is None or function.external_execution or function.requires_user_input:
            raise ValueError(f"{function.name} cannot run outside of an Agno agent: it waits for its user")
        body, asks = partial(_call_theirs, function), bool(function.requires_confirmation)
        result.append(foreign_tool(body, function.name, function.description, function.parameters, asks))
    return result


def _function(bridged: BridgedTool, *, is_async: bool = False) -> Function:
    # Agno fills the first two.
    def run(_agno_run_context: Any = None, fc: Any = None, **arguments: Any) -> Any:
        return _output(bridged.call(arguments, **_facts(_agno_run_context, fc)), fc)

    async def arun(_agno_run_context: Any = None, fc: Any = None, **arguments: Any) -> Any:
        return _output(await bridged.acall(arguments, **_facts(_agno_run_context, fc)), fc)

    return Function(
        name=bridged.name,
        description=bridged.description,
        parameters=bridged.schema,
        strict=False,
        entrypoint=arun if is_async else run,
        skip_entrypoint_processing=True,  # else Agno derives a schema, and validates the arguments before we do
        requires_confirmation=bridged.needs_approval or None,
    )


def _facts(run: Any, call: Any) -> dict[str, Any]:
    return {"call_id": call.call_id, "run_id": getattr(run, "session_id", None), "approved": True}  # after its pause


def _output(result: Result, call: Any) -> ToolResult:
    if not result.ok:  # both end the call alone, with an error that is not logged
        raise (StopAgentRun if result.halted else RetryAgentRun)(text_of(result)) from result.exception
    if result.halted:
        # Agno made a copy of the function for this run.
        call.function.stop_after_tool_call = call.function.show_result = True
    blocks: list[Any] = [x for x in parts_of(result, "image", "audio", "application/pdf") if not isinstance(x, str)]
    return ToolResult(
        content=text_of(result),
        images=[Image(content=x.data, mime_type=x.mime_type) for x in blocks if x.kind == "image"] or None,
        audios=[Audio(content=x.data, mime_type=x.mime_type) for x in blocks if x.kind == "audio"] or None,
        files=[File(content=x.data, mime_type=x.mime_type, filename=x.name) for x in blocks if x.kind == "file"]
        or None,
    )


async def _call_theirs(function: Any, arguments: dict[str, Any], context: Context) -> Result:
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
    if isinstance(value, AsyncIterator):
        return "".join([str(item) async for item in value])
    if isinstance(value, Iterator):
        return "".join(map(str, value))
    if not isinstance(value, ToolResult):
        return value
    media = [*(value.images or ()), *(value.audios or ()), *(value.files or ())]
    blocks = [block_of(item.get_content_bytes(), item.mime_type) for item in media]
    return [value.content, *blocks] if blocks else value.content
