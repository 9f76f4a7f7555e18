"""`Server`: tools for the clients of the Model Context Protocol."""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version as version_of
from typing import TYPE_CHECKING, Any

from mcp.server.lowlevel import NotificationOptions
from mcp.server.lowlevel import Server as LowLevelServer
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import ListenHandler
from mcp_types import SERVER_INFO_META_KEY, CallToolRequestParams, PaginatedRequestParams
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from tools_core import Registry, Tool
from tools_mcp._server._approval import Approver
from tools_mcp._server._calls import Calls
from tools_mcp._server._installed_tools import InstalledTools
from tools_mcp._server._listing import Listing
from tools_mcp._server._runs import Runs
from tools_mcp._server._stdio import Incoming, Outgoing, claim_streams
from tools_runtime import Executor, Policy

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncGenerator

    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
    from mcp.server.models import InitializationOptions
    from starlette.applications import Starlette

    from tools_mcp._server._oauth import OAuth

Tools = Mapping[str, Tool] | Sequence[Any]

# A listing is fresh for ten seconds, and other clients may get another one.
_CACHING = {"resultType": "complete", "ttlMs": 10_000, "cacheScope": "private"}


class Server:
    """Serves tools to MCP clients of the protocols 2026-07-28 and 2025-11-25, on standard streams or over HTTP.

    Args:
        tools: A registry or other mapping, or a sequence of tools; by default what is installed.
        policy: A plugin that decides about calls; by default `tools_runtime.Policy()`.
        allow: Names or patterns of tools whose calls need no approval.
        approve: Answers approval requests, as for `Executor`; by default the client asks its user, if it can.
        executor: Makes the calls, in place of one made of the arguments above, `timeout` and the installed plugins.
        name: The name of the server.
        version: Its version; by default that of this package.
        instructions: Text for the model about the use of the tools.
        workspace: The folder that file tools are confined to; by default they decide.
        timeout: Seconds that a call may take where its tool sets no limit; None for no limit.

    `lowlevel` is the server of the SDK, for what this class does not offer.
    """

    def __init__(  # noqa: PLR0913  (each has a default)
        self,
        tools: Tools | None = None,
        *,
        policy: Any = None,
        allow: Sequence[str] = (),
        approve: Any = None,
        executor: Executor | None = None,
        name: str = "ask-tools",
        version: str | None = None,
        instructions: str | None = None,
        workspace: str | os.PathLike[str] | None = None,
        timeout: float | None = 120.0,
    ) -> None:
        served = InstalledTools() if tools is None else tools if isinstance(tools, Mapping) else _registry(tools)
        self._listing = Listing(served)
        self._listen = ListenHandler(self._listing)
        self._executor = executor or Executor(
            served,
            policy=Policy() if policy is None else policy,
            approve=approve or Approver(allow),
            default_timeout=timeout,
        )
        self._calls = Calls(self._listing, self._executor, workspace)
        self.lowlevel: LowLevelServer[Runs] = _LowLevelServer(
            name,
            version=version_of("tools-mcp") if version is None else version,
            instructions=instructions,
            lifespan=self._lifespan,
            get_tool_input_schema=self._listing.schema,
            on_list_tools=self._list,  # type: ignore[arg-type]  # a dict is a result as well
            on_call_tool=self._calls.make,  # type: ignore[arg-type]
            on_subscriptions_listen=self._listen,
        )
        boundary = RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=name)
        self.lowlevel.middleware = [self._accompany, *self.lowlevel.middleware, boundary, self._answer]

    # ------------------------------------------------------------------------------------------------ transports

    def run_stdio(self) -> None:
        """Serve one client on standard input and output, until it closes them, or SIGTERM.

        Output of tools goes to standard error, until the process ends.
        """
        incoming, outgoing = claim_streams()
        _forget_imports()
        with suppress(asyncio.CancelledError):
            asyncio.run(self._run_stdio(incoming, outgoing))

    async def _run_stdio(self, incoming: int, outgoing: int) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  (this is one)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        write = Outgoing(outgoing)
        await self.lowlevel.run(Incoming(incoming, write), write, self.lowlevel.create_initialization_options())

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
        from tools_mcp._server._http import make_app  # not needed for standard streams

        return make_app(self.lowlevel, host, url, token, oauth)

    def run_http(
        self,
        host: str = "127.0.0.1",
        port: int = 8000,
        *,
        url: str | None = None,
        token: str | None = None,
        oauth: OAuth | None = None,
    ) -> None:
        """Serve clients over HTTP, until SIGINT or SIGTERM; port 0 takes any free one.

        Raises: ValueError for a host that other machines can reach, without a token or OAuth; OSError if the address
            is in use.
        """
        from tools_mcp._server._http import check_exposure, run  # as above

        check_exposure(host, is_protected=bool(token or oauth))
        app = self.http_app(host=host, url=url, token=token, oauth=oauth)
        _forget_imports()
        run(app, host, port, self._listen.close)

    # ------------------------------------------------------------------------------------------------ connections

    @asynccontextmanager
    async def _lifespan(self, _: LowLevelServer[Runs]) -> AsyncGenerator[Runs]:
        """Watch the tools during one connection, or all those of an HTTP server; end the runs afterwards."""
        runs = Runs()
        watching = asyncio.create_task(self._listing.watch())
        try:
            yield runs
        finally:
            watching.cancel()
            self._listen.close()
            await runs.end_all()

    async def _accompany(self, ctx: ServerRequestContext[Runs, Any], call_next: CallNext) -> HandlerResult:
        """Stay with a session of 2025-11-25 from its first notification to its end: tell it of changes, end its run."""
        result = await call_next(ctx)
        if ctx.method == "notifications/initialized" and ctx.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
            changed = asyncio.Event()
            unsubscribe = self._listing.subscribe(lambda _: changed.set())
            try:
                while await changed.wait():
                    changed.clear()
                    await ctx.session.send_tool_list_changed()
            finally:
                unsubscribe()
                await ctx.lifespan_context.end(ctx.lifespan_context.of(ctx))
        return result

    # ------------------------------------------------------------------------------------------------ requests

    async def _list(self, _: ServerRequestContext[Runs, Any], params: PaginatedRequestParams | None) -> dict[str, Any]:
        await self._listing.refresh()
        return {**_CACHING, **self._listing.page(None if params is None else params.cursor)}

    async def _answer(self, ctx: ServerRequestContext[Runs, Any], call_next: CallNext) -> HandlerResult:
        """Answer `tools/list` and `tools/call` in the form of the wire.

        The SDK would read each definition and result once more, which takes longer than to make them.
        """
        if ctx.session.client_capabilities is None:  # before the handshake, or not declared: the SDK has the error
            return await call_next(ctx)
        if ctx.method == "tools/call":
            made = await self._calls.make(ctx, CallToolRequestParams.model_validate(ctx.params or {}, by_name=False))
        elif ctx.method == "tools/list":
            page = PaginatedRequestParams.model_validate(ctx.params or {}, by_name=False)
            made = await self._list(ctx, page)
        else:
            return await call_next(ctx)
        if ctx.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
            return {name: value for name, value in made.items() if name not in _CACHING}
        info = {SERVER_INFO_META_KEY: self.lowlevel.server_info_stamp}
        return {**made, "_meta": {**made.get("_meta", {}), **info}}


def _forget_imports() -> None:
    """Let garbage collection skip the objects of the SDK: looking through them takes a fifth of the time of a call."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 20, 20)


class _LowLevelServer(LowLevelServer[Runs]):
    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *args: Any, **options: Any
    ) -> InitializationOptions:
        """Declare that the server reports changes, on all transports."""
        changes = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(changes, *args, **options)


def _registry(tools: Sequence[Any]) -> Registry:
    made = Registry()
    for tool in tools:
        made.register(tool)
    return made
