"""`Server`: tools for the clients of the Model Context Protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib.metadata import version as version_of
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any

from mcp.server.lowlevel import NotificationOptions
from mcp.server.lowlevel import Server as LowLevelServer
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import ListenHandler
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_REQUEST,
    SERVER_INFO_META_KEY,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    NotificationParams,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from tools_core import Registry, Tool, Tools
from tools_mcp._server import _http, _stdio
from tools_mcp._server._approvals import ClientApprovals
from tools_mcp._server._calls import Calls
from tools_mcp._server._elicitation import approver
from tools_mcp._server._listing import Listing
from tools_mcp._server._reading import complete, read_params
from tools_mcp._server._runs import Runs
from tools_runtime import Approvals, Executor, Policy
from tools_runtime.plugins import OutputBudget

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncGenerator

    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
    from mcp_types import PaginatedRequestParams
    from starlette.applications import Starlette

    from tools_mcp._server._oauth import OAuth

# Fields that 2026-07-28 adds to results: a listing is fresh for ten seconds, and other clients may get another one.
_ADDED: dict[str, dict[str, Any]] = {
    "tools/call": {"resultType": "complete"},
    "tools/list": {"resultType": "complete", "ttlMs": 10_000, "cacheScope": "private"},
}
_ADVICE = (
    "To allow such calls, the owner of the server uses `Server(allow=['{tool}'])`, or a rule in a policy file "
    "(`ask-tools policy --help`)."
)


class Server:
    """Serves tools to MCP clients of the protocols 2026-07-28 and 2025-11-25, on standard streams or over HTTP.

    Args:
        tools: What to serve, as for `Registry`; by default what is installed. Changes of a registry are served, too.
        only: Patterns of the tools that are served, as for `Registry.select`; by default all.
        read_only: Whether to serve only tools that are annotated as read-only.
        policy: A plugin that decides about calls; by default `tools_runtime.Policy()`.
        allow: Names or patterns of tools whose calls need no approval.
        name: The name of the server.
        version: Its version; by default that of this package.
        instructions: Text for the model about the use of the tools.
        workspace: The folder that file tools are confined to; by default they decide.
        timeout: Seconds that a call may take where its tool sets no limit; None for no limit.
        output_budget: The number of characters of one result that a client receives, or None.
        hooks: More plugins, the outermost first, such as `tools_runtime.plugins.AuditLog`. The state of a context has
            the name of the `client`, and with OAuth its `user`.
        advice: How a user allows calls of `{tool}`, for a client that cannot ask. `{client}` is the name of this client
            for `ask-tools mcp install`.

    `lowlevel` is the server of the SDK, for what this class does not offer.
    """

    def __init__(  # noqa: PLR0913  (each has a default)
        self,
        tools: Tools | None = None,
        *,
        only: Sequence[str] | None = None,
        read_only: bool = False,
        policy: Any = None,
        allow: Sequence[str] = (),
        name: str = "ask-tools",
        version: str | None = None,
        instructions: str | None = None,
        workspace: str | os.PathLike[str] | None = None,
        timeout: float | None = 120.0,
        output_budget: int | None = 30_000,
        hooks: Sequence[Any] = (),
        advice: str = _ADVICE,
    ) -> None:
        if isinstance(only, str) or isinstance(allow, str):
            raise TypeError("only and allow are sequences of names or patterns, such as ['read_*'], not text")
        if only is not None and not all(pattern.strip(" ,") for pattern in only):
            raise ValueError(f"only has an empty pattern: {list(only)!r}; leave it out to serve all tools")
        self._listing = Listing(None if tools is None else _by_name(tools), only, read_only=read_only)
        self._listen = ListenHandler(self._listing.changes)
        hooks = [*hooks, *([] if output_budget is None else [OutputBudget(output_budget, max_stored=1)])]
        policy = Policy() if policy is None else policy
        owner = getattr(policy, "approvals", None)
        executor = Executor(
            self._listing.tools,
            hooks=hooks,
            policy=policy,
            approve=approver(allow),
            approvals=ClientApprovals(owner if isinstance(owner, Approvals) else Approvals()),
            default_timeout=timeout,
        )
        self.lowlevel: LowLevelServer[Runs] = LowLevelServer(
            name,
            version=version_of("tools-mcp") if version is None else version,
            instructions=instructions,
            lifespan=self._lifespan,
            get_tool_input_schema=self._listing.schema,
            on_list_resources=_no_resources,  # clients ask for them, whatever a server offers
            on_list_resource_templates=_no_templates,
            on_list_prompts=_no_prompts,
            on_list_tools=self._list,  # type: ignore[arg-type]  # a dict is a result as well
            on_call_tool=Calls(self._listing, executor, workspace, advice).make,  # type: ignore[arg-type]
            on_subscriptions_listen=self._listen,
        )
        self.lowlevel.add_notification_handler("notifications/initialized", NotificationParams, self._accompany)
        boundary = RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=name)
        self.lowlevel.middleware += [boundary, self._answer]
        self._info = {SERVER_INFO_META_KEY: self.lowlevel.server_info_stamp}
        self.lowlevel.create_initialization_options = partial(  # type: ignore[method-assign]  # for all transports
            self.lowlevel.create_initialization_options, NotificationOptions(tools_changed=True)
        )

    def run_stdio(self) -> None:
        """Serve one client on standard input and output, until it closes them, or SIGTERM.

        Output of tools goes to standard error, until the process ends.
        """
        with suppress(asyncio.CancelledError):
            asyncio.run(_stdio.serve(self.lowlevel))

    def http_app(
        self, *, host: str = "127.0.0.1", url: str | None = None, token: str | None = None, oauth: OAuth | None = None
    ) -> Starlette:
        """Return an ASGI application that serves `/mcp`, to be run in one process.

        Args:
            host: The host that it is bound to: requests that name another one are refused.
            url: The URL of `/mcp` for clients, where it differs, as behind a proxy.
            token: A bearer token that clients must send.
            oauth: An authorization server whose access tokens clients must send.
        """
        return _http.make_app(self.lowlevel, host, url, token, oauth)

    def run_http(
        self,
        host: str = "127.0.0.1",
        port: int = 8000,
        *,
        url: str | None = None,
        token: str | None = None,
        oauth: OAuth | None = None,
        no_token: bool = False,
    ) -> None:
        """Serve clients over HTTP, until SIGINT or SIGTERM; port 0 takes any free one. For the rest see `http_app`.

        Without `token` and `oauth`, a new token is printed. With `no_token`, every user and program of this machine
        can call the tools and approve the calls.

        Raises: ValueError for `no_token` with a host that other machines can reach; OSError if the address is in use.
        """
        if no_token and not (token is None and oauth is None and _http.is_loopback(host)):
            raise ValueError("no_token is for a server on 127.0.0.1, without another authentication")
        new_token = token_urlsafe() if token is None and oauth is None and not no_token else None
        app = self.http_app(host=host, url=url, token=token or new_token, oauth=oauth)
        _http.run(app, host, port, self._listen.close, new_token)

    @asynccontextmanager
    async def _lifespan(self, _: LowLevelServer[Runs]) -> AsyncGenerator[Runs]:
        """Watch the tools during one connection, or all connections of an HTTP server; end the runs afterwards."""
        runs = Runs()
        watching = asyncio.create_task(self._listing.watch())
        try:
            yield runs
        finally:
            watching.cancel()
            self._listen.close()
            await runs.end_all()

    async def _accompany(self, ctx: ServerRequestContext[Runs, Any], _: NotificationParams) -> None:
        """Notify a session of 2025-11-25 of changes until it ends, then end its run."""
        ctx.lifespan_context.begin(ctx)
        changed = asyncio.Event()
        unsubscribe = self._listing.changes.subscribe(lambda _: changed.set())
        try:
            while await changed.wait():
                changed.clear()
                await ctx.session.send_tool_list_changed()
        finally:
            unsubscribe()
            await ctx.lifespan_context.end(ctx)

    async def _list(self, _ctx: ServerRequestContext[Runs, Any], _params: PaginatedRequestParams) -> dict[str, Any]:
        """List all tools at once: many clients read the first page only."""
        await self._listing.refresh()
        return {"tools": [listed.definition for listed in self._listing.listed.values()]}

    async def _answer(self, ctx: ServerRequestContext[Runs, Any], call_next: CallNext) -> HandlerResult:
        """Answer `tools/list` and `tools/call` without the SDK's models.

        The SDK would validate each definition and result again, which takes longer than making them.
        """
        if ctx.method == "initialize" and isinstance(ctx.params, dict):
            complete(ctx.params)
        is_introduced = ctx.session.client_capabilities is not None
        if not is_introduced and ctx.method in _ADDED and ctx.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
            raise MCPError(INVALID_REQUEST, "send `initialize` before other requests")
        if ctx.method not in _ADDED or not is_introduced:
            return await call_next(ctx)  # without capabilities, the SDK returns an error
        entry = self.lowlevel.get_request_handler(ctx.method)
        assert entry is not None  # noqa: S101  (one of ours)
        result: Any = await entry.handler(ctx, read_params(entry.params_type, ctx.params or {}))
        if ctx.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
            return dict(result)
        return {**_ADDED[ctx.method], **result, "_meta": {**result.get("_meta", {}), **self._info}}


def _by_name(tools: Tools) -> Mapping[str, Tool]:
    """Return tools by name; a registry, or another mapping of tools, stays the same object."""
    if isinstance(tools, Mapping) and (
        isinstance(tools, Registry) or all(isinstance(tool, Tool) for tool in tools.values())
    ):
        return tools
    return Registry(tools)


async def _no_resources(*_: object) -> ListResourcesResult:
    return ListResourcesResult(resources=[])


async def _no_templates(*_: object) -> ListResourceTemplatesResult:
    return ListResourceTemplatesResult(resource_templates=[])


async def _no_prompts(*_: object) -> ListPromptsResult:
    return ListPromptsResult(prompts=[])
