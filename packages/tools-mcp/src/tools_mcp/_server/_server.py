"""`Server`: tools for the clients of the Model Context Protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from mcp.server.lowlevel import NotificationOptions
from mcp.server.lowlevel import Server as LowLevelServer

from tools_core import Context, Tool, ToolCall
from tools_mcp._server._calls import Progress, encode, unknown_tool
from tools_mcp._server._installed_tools import InstalledTools
from tools_mcp._server._listing import Listing
from tools_mcp._server._stdio import claim_streams
from tools_runtime import Executor, Policy
from tools_runtime._executor import _as_mapping

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncGenerator

    from mcp.server.context import ServerRequestContext
    from mcp_types import CallToolRequestParams, PaginatedRequestParams
    from starlette.applications import Starlette

Tools = Mapping[str, Tool] | Sequence[Any]


class Server:
    """Serves tools to MCP clients, over standard input and output or HTTP, in both eras of the protocol.

    Args:
        tools: A registry or other mapping, or a sequence of tools; by default what is installed.
        policy: A plugin that decides about calls; by default `Policy()`.
        timeout: Seconds that a call may take where its tool sets no limit.
        workspace: The folder that file tools are confined to; by default the current folder.
    """

    def __init__(  # noqa: PLR0913  (each has a default)
        self,
        tools: Tools | None = None,
        *,
        policy: Any = None,
        approve: Any = None,
        executor: Executor | None = None,
        name: str = "ask-tools",
        version: str = "",
        instructions: str | None = None,
        workspace: str | os.PathLike[str] | None = None,
        timeout: float | None = 120.0,
    ) -> None:
        self._tools = InstalledTools() if tools is None else _as_mapping(tools)
        self._workspace = workspace
        self._executor = executor
        self._policy = policy
        self._approve = approve
        self._timeout = timeout
        self._listing = Listing(self._tools)
        self._reading = anyio.Lock()
        self.lowlevel: LowLevelServer[Any] = LowLevelServer(
            name,
            version=version,
            instructions=instructions,
            lifespan=self._lifespan,
            on_list_tools=self._list,  # type: ignore[arg-type]
            on_call_tool=self._call,  # type: ignore[arg-type]
        )

    def run_stdio(self) -> None:
        """Serve one client on standard input and output, until it closes them."""
        from io import TextIOWrapper
        from os import fdopen

        from mcp.server.stdio import stdio_server

        incoming, outgoing = claim_streams()

        async def run() -> None:
            stdin = anyio.wrap_file(TextIOWrapper(fdopen(incoming, "rb"), encoding="utf-8", errors="replace"))
            stdout = anyio.wrap_file(TextIOWrapper(fdopen(outgoing, "wb"), encoding="utf-8"))
            async with stdio_server(stdin, stdout) as (read, write):
                options = self.lowlevel.create_initialization_options(NotificationOptions(tools_changed=True))
                await self.lowlevel.run(read, write, options)

        anyio.run(run)

    def http_app(self, *, host: str = "127.0.0.1") -> Starlette:
        """Return an ASGI application that serves `/mcp`."""
        return self.lowlevel.streamable_http_app(host=host)

    def run_http(self, host: str = "127.0.0.1", port: int = 8000) -> None:
        """Serve clients over HTTP, until SIGINT or SIGTERM."""
        import uvicorn

        uvicorn.run(self.http_app(host=host), host=host, port=port, log_level="info", access_log=False)

    @asynccontextmanager
    async def _lifespan(self, _: LowLevelServer[Any]) -> AsyncGenerator[Any]:
        yield Context().run_id

    async def _refresh(self) -> None:
        async with self._reading:
            await anyio.to_thread.run_sync(self._listing.refresh)

    async def _list(self, _: ServerRequestContext[Any, Any], params: PaginatedRequestParams | None) -> dict[str, Any]:
        await self._refresh()
        return self._listing.page(None if params is None else params.cursor)

    async def _call(self, ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> dict[str, Any]:
        if not self._listing.is_read:
            await self._refresh()
        found = self._listing.find(params.name)
        if found is None:
            raise unknown_tool(params.name, self._listing.names())
        call = ToolCall(str(ctx.request_id), found.name, params.arguments)
        executor = self._made()
        context = Context(workspace=self._workspace, run_id=ctx.lifespan_context)
        if ctx.meta is None or "progress_token" not in ctx.meta:
            result = await executor.acall(call, context=context)
        else:
            progress = Progress(ctx)
            context.on_progress = progress.report
            async with progress.sending():
                result = await executor.acall(call, context=context)
        return encode(call, found.tool, result)

    def _made(self) -> Executor:
        if self._executor is None:
            policy = Policy() if self._policy is None else self._policy
            self._executor = Executor(self._tools, policy=policy, approve=self._approve, default_timeout=self._timeout)
        return self._executor
