"""`Calls`: answers `tools/call`, with progress, approval, questions and cancellation."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from contextlib import asynccontextmanager
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from tools_core import Context, Result, ToolCall
from tools_core.formats import mcp
from tools_core.text import closest, sendable
from tools_mcp._server._elicitation import Elicitation, elicitation
from tools_mcp._server._runs import identity

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncGenerator, Callable

    from mcp.server.context import ServerRequestContext
    from mcp_types import CallToolRequestParams

    from tools_mcp._server._listing import Listed, Listing
    from tools_mcp._server._runs import Runs
    from tools_runtime import Executor

_NOT_KEPT = "[This client has no session on the server: jobs and sessions end with the call that starts them.]"
_MAX_REPORTS = 100  # progress reports queued for a slow client; the oldest are dropped


class Calls:
    """Makes calls with an executor, each in the run of its client."""

    def __init__(
        self, listing: Listing, executor: Executor, workspace: str | os.PathLike[str] | None, advice: str
    ) -> None:
        self._listing = listing
        self._executor = executor
        self._workspace = workspace
        self._advice = advice

    async def make(self, ctx: ServerRequestContext[Runs, Any], params: CallToolRequestParams) -> dict[str, Any]:
        """Make a call, and return its result or the request to ask the user first.

        The call is cancelled with its request or connection.
        """
        listed = await self._listing.find(params.name)
        if listed is None:
            name = params.name[:100]
            similar = closest(name, self._listing.listed)
            hint = f"did you mean {' or '.join(similar)}?" if similar else "tools/list has the names"
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {name}; {hint}")
        run = ctx.lifespan_context.of(ctx)
        run.packages.add(listed.tool.__module__.partition(".")[0])
        # Text is parsed faster than a large tree of values is copied, which would hold up the other clients.
        arguments = None if params.arguments is None else json.dumps(params.arguments, ensure_ascii=False)
        call = ToolCall(str(ctx.request_id), listed.name, arguments)
        asking = Elicitation(ctx, params, call, run, self._advice)
        token = elicitation.set(asking)
        try:
            async with _progress(ctx) as report:
                context = Context(
                    workspace=self._workspace, state=identity(ctx), run_id=run.id, on_progress=report,
                    on_ask=asking.answer,
                )  # fmt: skip
                result = await self._executor.acall(call, context=context)
        finally:
            elicitation.reset(token)  # a session keeps the context of its last message, and so the whole request
            if not run.is_kept:
                await run.end()
        if result.error_type in ("approval_required", "answer_required") and "pending" in result.metadata:
            if asking.next_round is not None:
                return asking.next_round.model_dump(by_alias=True, mode="json", exclude_none=True)
            if asking.obstacle:
                result = Result.error(f"{result.error}\n{asking.obstacle}", type=result.error_type)
        answer = _encode(call, listed, result)
        if listed.tool.stateful and run.ends and not run.is_kept:
            answer["content"].append({"type": "text", "text": _NOT_KEPT})
        return answer


@asynccontextmanager
async def _progress(ctx: ServerRequestContext[Any, Any]) -> AsyncGenerator[Callable[..., object]]:
    """Yield a function that queues progress reports from any thread, for a client that has requested them.

    They are sent in order before the block ends; a report that does not advance is dropped.
    """
    loop = asyncio.get_running_loop()
    waiting: deque[tuple[float, float | None, str | None]] = deque(maxlen=_MAX_REPORTS)
    sending: asyncio.Task[None] | None = None
    last = -inf

    async def send() -> None:
        while waiting:
            await ctx.session.report_progress(*waiting.popleft())

    def add(done: float, total: float | None = None, message: str = "") -> None:
        nonlocal last, sending
        if last < done < inf:
            last = done
            total = total if total is not None and isfinite(total) else None
            waiting.append((done, total, sendable(message) or None))
            if sending is None or sending.done():
                sending = loop.create_task(send())

    try:
        yield lambda *report: loop.call_soon_threadsafe(add, *report)
        if sending is not None:
            await sending
    finally:
        if sending is not None:
            sending.cancel()


def _plain(output: Any) -> Any:
    """Return JSON data that UTF-8 can carry."""
    return json.loads(sendable(json.dumps(output, ensure_ascii=False, default=dict)))


def _encode(call: ToolCall, listed: Listed, result: Result) -> dict[str, Any]:
    """Return a result as `tools/call` answers it.

    The record of a tool with an output schema is added where the tool wrote other text for the model. Clients refuse a
    record that does not fit the schema, or none, except in an error.
    """
    answer = mcp.results([(call, result)])[0]
    output = result.output if result.ok else None
    if listed.output is None or not result.ok:
        if "cut" in result.metadata and isinstance(output, dict):
            answer["structuredContent"] = _plain(output)  # the text that was cut is no record
        elif isinstance(output, int | float) or (isinstance(output, list) and isinstance(result.content, str)):
            answer["structuredContent"] = {"result": _plain(output)}
        return answer
    record = answer.pop("structuredContent", None) or _plain(result.to_dict()["output"])
    record = {"result": record} if listed.is_wrapped else record
    problems = listed.output.check(record, repair=False).problems
    if not problems:
        return {**answer, "structuredContent": record}
    if not result.halted:
        text = f"[The result does not fit the output schema of the tool: {'; '.join(map(str, problems))}]"
        answer["content"].append({"type": "text", "text": text})
    return {**answer, "isError": True}
