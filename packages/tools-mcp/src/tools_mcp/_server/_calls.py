"""One `tools/call`: from its parameters to its result, with progress and cancellation."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import asynccontextmanager
from difflib import get_close_matches
from math import isfinite
from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from tools_core.formats import mcp

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from mcp.server.context import ServerRequestContext

    from tools_core import Result, Tool, ToolCall

_MOST_REPORTS = 100  # of progress that wait for a slow client; older ones are dropped


def unknown_tool(name: str, names: Sequence[str]) -> MCPError:
    """Return the protocol error for a tool that there is not."""
    near = get_close_matches(name, names, 3)
    hint = f"; did you mean {' or '.join(near)}?" if near else "; tools/list has their names"
    return MCPError(INVALID_PARAMS, f"Unknown tool: {name}{hint}")


def encode(call: ToolCall, tool: Tool, result: Result) -> dict[str, Any]:
    """Return a result as `tools/call` answers it."""
    answer: dict[str, Any] = {"resultType": "complete", **mcp.results([(call, result)])[0]}
    if not result.ok:
        answer.pop("structuredContent", None)
    elif "structuredContent" not in answer and tool.output_schema and isinstance(result.output, dict):
        answer["structuredContent"] = result.to_dict()["output"]  # the model reads other text
    return answer


class Progress:
    """Reports of one call on their way to the client: in order, and only those that go forward."""

    def __init__(self, ctx: ServerRequestContext[Any, Any]) -> None:
        self._ctx = ctx
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[float, float | None, str]] = deque(maxlen=_MOST_REPORTS)
        self._happened = asyncio.Event()
        self._last = float("-inf")
        self._is_over = False

    def report(self, done: float, total: float | None = None, message: str = "") -> None:
        """Take a report, in any thread; a tool never waits for the client."""
        self._loop.call_soon_threadsafe(self._add, done, total, message)

    def _add(self, done: float, total: float | None, message: str) -> None:
        if self._is_over or not isfinite(done) or done <= self._last:
            return
        self._last = done
        self._waiting.append((done, total if total is not None and isfinite(total) else None, message))
        self._happened.set()

    @asynccontextmanager
    async def sending(self) -> AsyncGenerator[None]:
        """Send reports while the call is made, and those that wait when it has ended."""
        sender = asyncio.create_task(self._send())
        try:
            yield
            await asyncio.sleep(0)  # reports of other threads
            self._is_over = True
            self._happened.set()
            await sender
        finally:
            self._is_over = True
            sender.cancel()

    async def _send(self) -> None:
        while self._waiting or not self._is_over:
            while self._waiting:
                done, total, message = self._waiting.popleft()
                await self._ctx.session.report_progress(done, total, message or None)
            if not self._is_over:
                await self._happened.wait()
                self._happened.clear()
