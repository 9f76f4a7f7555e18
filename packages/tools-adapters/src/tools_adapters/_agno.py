"""Agno: a toolkit for agents and teams."""

from __future__ import annotations

from typing import Any, Unpack

from agno.exceptions import RetryAgentRun, StopAgentRun
from agno.media import Audio, File, Image
from agno.tools import Function, Toolkit
from agno.tools.function import ToolResult

from tools_adapters._bridge import BridgedTool, Options, bridge, parts_of, text_of
from tools_core import Result, Tools


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
