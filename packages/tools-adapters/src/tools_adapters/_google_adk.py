"""Google's Agent Development Kit: tools for `LlmAgent`, and its tools as ours."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import Any, Unpack
from urllib.parse import quote

from google.adk.agents import InvocationContext, LlmAgent
from google.adk.sessions import InMemorySessionService, Session
from google.adk.tools import BaseTool, FunctionTool, ToolContext
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.genai import types

from tools_adapters._bridge import BridgedTool, Options, block_of, bridge, foreign_tool, parts_of, text_of
from tools_core import Context, Result, Tool, ToolError, Tools
from tools_core.threads import run_coroutine

KINDS = ("image", "audio", "application/pdf")  # media that a function response carries


def to_google_adk(tools: Tools, **options: Unpack[Options]) -> list[BaseTool]:
    """Return tools for `LlmAgent(tools=[...])`; see `Options` for `executor`, `context` and `approve`.

    The model reads `{"result": text or data}`, with pictures, audio and PDFs beside it, or `{"error": text}`. A call
    that requires approval requests a tool confirmation, whose payload has its arguments and effects. After a halt the
    invocation ends with the tool's response. The run of a call is the session of its user in its app.
    """
    return [AdkTool(bridged) for bridged in bridge(tools, **options)]


def from_google_adk(tools: Iterable[Any]) -> list[Tool]:
    """Return tools that call functions and tools of the kit.

    They run in an empty session. A tool that always requires confirmation requires approval; one that requests it
    during a call is refused. A tool without a declaration, which only a model runs, is a ValueError.
    """
    result = []
    for item in tools:
        tool = item if isinstance(item, BaseTool) else FunctionTool(item)
        declaration: Any = tool._get_declaration()  # the kit has no public form
        if declaration is None:
            raise ValueError(f"{tool.name} cannot run outside of an agent: it has no declaration")
        schema = declaration.parameters_json_schema
        if schema is None:
            schema = declaration.parameters.json_schema.model_dump(exclude_none=True) if declaration.parameters else {}
        requires_approval = run_coroutine(_always_asks(tool))
        body = partial(_call_theirs, tool, requires_approval)
        result.append(foreign_tool(body, tool.name, declaration.description, schema, requires_approval))
    return result


class AdkTool(BaseTool):
    """A tool of ours in the kit."""

    def __init__(self, bridged: BridgedTool) -> None:
        super().__init__(name=bridged.name, description=bridged.description)
        self._bridged = bridged

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=self._bridged.schema
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Run a call; ask for confirmation if it requires approval."""
        confirmation = tool_context.tool_confirmation
        if confirmation is not None and not confirmation.confirmed:
            return {"error": f"{self.name} was not approved"}
        session = tool_context.session
        result = await self._bridged.acall(
            args,
            call_id=tool_context.function_call_id,
            run_id="/".join(quote(part, safe="") for part in (session.app_name, session.user_id, session.id)),
            approved=confirmation is not None,
        )
        request = self._bridged.request_in(result)
        if request is not None:
            payload = {"arguments": request["arguments"], "effects": request["effects"]}
            tool_context.request_confirmation(hint="; ".join(request["reasons"]), payload=payload)
        if request is not None or result.halted:  # the model is not asked again
            tool_context.actions.skip_summarization = True
        if not result.ok:
            return {"error": text_of(result)}
        parts = parts_of(result, *KINDS)
        media = [_part(part) for part in parts if not isinstance(part, str)]
        text: Any = "\n".join(part for part in parts if isinstance(part, str))
        if not isinstance(result.output, str | None):  # data, unless the tool has written other text for the model
            with suppress(ValueError):
                text = json.loads(text)
        return {"result": text, "media": media} if media else {"result": text}


def _part(block: Any) -> types.Part:
    return types.Part.from_bytes(data=block.data, mime_type=block.mime_type)


def _context(call_id: str | None = None, confirmed: bool = False) -> ToolContext:
    """Return the context of a call in an empty session."""
    service = InMemorySessionService()
    session = Session(id="tools", app_name="tools_adapters", user_id="user")
    agent = LlmAgent(name="tools")
    invocation = InvocationContext(session_service=service, session=session, invocation_id="tools", agent=agent)
    confirmation = ToolConfirmation(confirmed=True) if confirmed else None
    return ToolContext(invocation, function_call_id=call_id or "call", tool_confirmation=confirmation)


async def _always_asks(tool: BaseTool) -> bool:
    try:
        return bool(await tool.check_require_confirmation({}, _context()))
    except Exception:  # noqa: BLE001  (the tool's own function decides, and needs arguments)
        return True


async def _call_theirs(tool: BaseTool, confirmed: bool, arguments: dict[str, Any], context: Context) -> Result:
    theirs = _context(context.call_id, confirmed)
    output = await tool.run_async(args=arguments, tool_context=theirs)
    if theirs.actions.requested_tool_confirmations:
        raise ToolError(f"{tool.name} requires confirmation in its agent", "approval_required")
    if isinstance(output, dict) and output.keys() == {"error"}:
        return Result.error(str(output["error"]))
    return (Result.halt if theirs.actions.skip_summarization else Result.ok)(_own(output))


def _own(value: Any) -> Any:
    """Return the kit's media as blocks of ours, alone or in a list."""
    blob = getattr(value, "inline_data", None)
    if blob is not None:
        return block_of(blob.data, blob.mime_type)
    if isinstance(value, list | tuple):
        return [_own(item) for item in value]
    return value
