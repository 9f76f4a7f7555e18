"""Strands Agents: tools for its agents."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any, Unpack
from uuid import uuid4
from weakref import WeakKeyDictionary

from strands import ToolContext
from strands.types.tools import AgentTool, ToolSpec, ToolUse

from tools_adapters._bridge import BridgedTool, Options, bridge, parts_of, text_of
from tools_core import Result, Tools


def to_strands(tools: Tools, **options: Unpack[Options]) -> list[AgentTool]:
    """Return tools for `Agent(tools=[...])`; see `Options` for `executor`, `context` and `approve`.

    The model reads text, pictures and PDFs; a failure has the status "error". Progress is a stream event of the tool. A
    call that requires approval interrupts the agent: the response "approve", or `{"arguments": {...}}` to edit them,
    runs it, anything else is the reason for the refusal. A halt cancels the loop after the current tools, with its text
    as the final message. The run of a call is the agent object's, so that conversations share nothing.
    """
    return [StrandsTool(bridged) for bridged in bridge(tools, **options)]


class StrandsTool(AgentTool):
    """A tool of ours in Strands."""

    def __init__(self, bridged: BridgedTool) -> None:
        super().__init__()
        self._bridged = bridged

    @property
    def tool_name(self) -> str:
        """The name that the model calls."""
        return self._bridged.name

    @property
    def tool_spec(self) -> ToolSpec:
        """The definition for the model."""
        bridged = self._bridged
        return {"name": bridged.name, "description": bridged.description, "inputSchema": {"json": bridged.schema}}

    @property
    def tool_type(self) -> str:
        """The kind that Strands shows."""
        return "function"

    async def stream(self, tool_use: ToolUse, invocation_state: dict[str, Any], **kwargs: Any) -> AsyncIterator[Any]:  # noqa: ARG002  (Strands' signature)
        """Run a call: yield its progress, then its result."""
        agent = invocation_state.get("agent")
        facts = {"call_id": tool_use["toolUseId"], "run_id": _run_id(agent)}
        reports: asyncio.Queue[Any] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def report(*progress: Any) -> None:  # from any thread
            event = dict(zip(("done", "total", "message"), progress, strict=True))
            loop.call_soon_threadsafe(reports.put_nowait, event)

        task = asyncio.create_task(self._run(tool_use, agent, invocation_state, on_progress=report, **facts))
        task.add_done_callback(lambda _: reports.put_nowait(None))
        try:
            while (event := await reports.get()) is not None:
                yield event
            result = await task
        finally:
            task.cancel()
        if result.halted and agent is not None:
            agent.cancel(message=text_of(result), after_current_tools=True)
        content = [_part(part, number) for number, part in enumerate(parts_of(result, "image", "application/pdf"))]
        yield {"toolUseId": tool_use["toolUseId"], "status": "success" if result.ok else "error", "content": content}

    async def _run(self, tool_use: ToolUse, agent: Any, state: dict[str, Any], **facts: Any) -> Result:
        result = await self._bridged.acall(tool_use["input"], **facts)
        request = self._bridged.request_in(result)
        if request is None or agent is None:
            return result
        # Raises unless the agent is resumed with a response.
        answer = ToolContext(tool_use, agent, state).interrupt(self.tool_name, dict(request))
        edited = answer.get("arguments") if isinstance(answer, Mapping) else None
        if answer != "approve" and edited is None:
            return Result.error(f"{self.tool_name} was not approved: {answer}", type="denied")
        return await self._bridged.acall(edited or request["arguments"], approved=True, **facts)


RUNS: WeakKeyDictionary[Any, str] = WeakKeyDictionary()  # the run of each agent


def _run_id(agent: Any) -> str | None:
    return None if agent is None else RUNS.setdefault(agent, f"strands-{uuid4().hex}")


def _part(part: Any, number: int) -> Any:
    if isinstance(part, str):
        return {"text": part}
    if part.kind == "image":
        return {"image": {"format": part.mime_type.partition("/")[2], "source": {"bytes": part.data}}}
    return {"document": {"format": "pdf", "name": f"document-{number}", "source": {"bytes": part.data}}}
