"""`Calls`: each `tools/call` from its parameters to its result, with progress, approval and cancellation."""

from __future__ import annotations

import asyncio
from collections import deque
from difflib import get_close_matches
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from tools_core import Context, Result, ToolCall
from tools_core.formats import mcp
from tools_mcp._server._approval import Asking, advice, asking, state_of
from tools_mcp._server._runs import Run

if TYPE_CHECKING:
    import os

    from mcp.server.context import ServerRequestContext
    from mcp_types import CallToolRequestParams

    from tools_core import Tool
    from tools_mcp._server._listing import Listing
    from tools_runtime import Executor

_MOST_REPORTS = 100  # of progress that wait for a slow client; the oldest are dropped


class Calls:
    """Makes calls with an executor, each in the run of its client."""

    def __init__(self, listing: Listing, executor: Executor, workspace: str | os.PathLike[str] | None) -> None:
        self._listing = listing
        self._executor = executor
        self._workspace = workspace

    async def make(self, ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> dict[str, Any]:
        """Make a call, and return its result or the request to ask the user first.

        When the request is cancelled, or the connection ends, so does the call.
        """
        listed = await self._listing.find(params.name)
        if listed is None:
            raise self._unknown(params.name)
        run: Run = ctx.lifespan_context.of(ctx)
        if not run.is_kept and (before := state_of(params).get("run")):
            run = Run(before, is_kept=False)
        call = ToolCall(str(ctx.request_id), listed.name, params.arguments)
        question = Asking(ctx, params, run)
        asking.set(question)
        run.note(listed.tool)
        try:
            result = await self._execute(call, run, ctx)
        finally:
            if not run.is_kept:
                await run.end()
        if result.error_type == "approval_required" and "pending" in result.metadata:
            if (round_trip := question.next_round()) is not None:
                return round_trip
            if not question.can_ask:
                result = Result.error(f"{result.error}. {advice(listed.name)}", type="approval_required")
        return encode(call, listed.tool, result)

    async def _execute(self, call: ToolCall, run: Run, ctx: ServerRequestContext[Any, Any]) -> Result:
        progress = Progress(ctx)
        context = Context(workspace=self._workspace, run_id=run.id, on_progress=progress.report)
        try:
            result = await self._executor.acall(call, context=context)
            await progress.flush()
        finally:
            progress.close()
        return result

    def _unknown(self, name: str) -> MCPError:
        near = get_close_matches(name, self._listing.names(), 3)
        hint = f"did you mean {' or '.join(near)}?" if near else "tools/list has the names"
        return MCPError(INVALID_PARAMS, f"Unknown tool: {name}; {hint}")


class Progress:
    """Reports of one call on their way to a client that asked for them: in order, and only those that go forward."""

    def __init__(self, ctx: ServerRequestContext[Any, Any]) -> None:
        self._session = ctx.session
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[float, float | None, str]] = deque(maxlen=_MOST_REPORTS)
        self._sender: asyncio.Task[None] | None = None
        self._last = -inf
        self._is_over = False

    def report(self, done: float, total: float | None = None, message: str = "") -> None:
        """Take a report, from any thread; a tool never waits for the client."""
        self._loop.call_soon_threadsafe(self._add, done, total, message)

    def _add(self, done: float, total: float | None, message: str) -> None:
        if self._is_over or not isfinite(done) or done <= self._last:
            return
        self._last = done
        self._waiting.append((done, total if total is not None and isfinite(total) else None, message))
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send())

    async def _send(self) -> None:
        while self._waiting:
            done, total, message = self._waiting.popleft()
            await self._session.report_progress(done, total, message or None)

    async def flush(self) -> None:
        """Send the reports that came before the result."""
        if self._sender is not None:
            await self._sender

    def close(self) -> None:
        """Send nothing more."""
        self._is_over = True
        if self._sender is not None:
            self._sender.cancel()


def encode(call: ToolCall, tool: Tool, result: Result) -> dict[str, Any]:
    """Return a result as `tools/call` answers it."""
    answer = mcp.results([(call, result)])[0]
    if result.ok and tool.output_schema and "structuredContent" not in answer and isinstance(result.output, dict):
        answer["structuredContent"] = result.to_dict()["output"]  # where the tool wrote other text for the model
    return {"resultType": "complete", **answer}
