"""`Recorder`: reports the calls of an executor to the run that makes them."""

from __future__ import annotations

from typing import cast

from tools_agent._events import ToolProgress
from tools_agent._loop._frame import Frame, frame_of
from tools_core import ApprovalRequest, Context, Tool, ToolCall
from tools_runtime import Event, hookimpl


class Recorder:
    """The executor's plugin that reports calls to their run, which is the nearest caller."""

    nested = False

    @hookimpl
    async def start_tool_call(self, call: ToolCall, tool: Tool, context: Context) -> None:
        """Record the start of a call."""
        is_read_only = tool.annotations.get("read_only", False)
        await _frame(context).calls.record_start(call, context, is_read_only=is_read_only)

    @hookimpl
    def on_event(self, event: Event) -> None:
        """Pass on the progress of a call."""
        if event.kind == "progress":
            _frame(event.context).report(ToolProgress(event.call, **event.detail))

    async def approve(self, request: ApprovalRequest) -> object:
        """Answer a request for approval."""
        return await _frame(request.context).calls.approve(request)


def _frame(context: Context) -> Frame:
    return cast("Frame", frame_of(context.caller))
