"""The runs of clients."""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import dataclass, field
from os import urandom
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import principal_components
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from mcp.server.context import ServerRequestContext

_FAREWELL = 5.0  # seconds for tools to end what belongs to a run


@dataclass
class Run:
    """One client's run. State between calls belongs to its id, which no other client shares.

    `is_kept` is False for a run of one call. `packages` are those whose tools were called.
    """

    is_kept: bool = True
    id: str = field(default_factory=lambda: urandom(8).hex(), init=False)
    packages: set[str] = field(default_factory=set, init=False)

    @property
    def ends(self) -> list[Callable[[str], object]]:
        """The functions `end_run` of the packages whose tools were called."""
        functions = [getattr(sys.modules.get(package), "end_run", None) for package in self.packages]
        return [end for end in functions if callable(end)]

    async def end(self) -> None:
        """Let the packages whose tools were called end what belongs to the run, such as background jobs."""
        for end in self.ends:
            with anyio.move_on_after(_FAREWELL, shield=True):
                await anyio.to_thread.run_sync(end, self.id, abandon_on_cancel=True)


class Runs:
    """The runs of one connection, or of all clients of an HTTP server."""

    def __init__(self) -> None:
        self._kept: defaultdict[Hashable, Run] = defaultdict(Run)

    def begin(self, ctx: ServerRequestContext[Any, Any]) -> None:
        """Start the run of a session. Before, each of its calls has a run, because nothing would end a kept one."""
        self._kept.setdefault(_client(ctx), Run())

    def of(self, ctx: ServerRequestContext[Any, Any]) -> Run:
        """Return the run of a request."""
        key = _client(ctx)
        has_begun = key in self._kept or not _is_session(ctx)
        return Run(is_kept=False) if key is None or not has_begun else self._kept[key]

    async def end(self, ctx: ServerRequestContext[Any, Any]) -> None:
        """End the run of a session."""
        if run := self._kept.pop(_client(ctx), None):
            await run.end()

    async def end_all(self) -> None:
        """End all runs, with the connection or the server."""
        while self._kept:
            await self._kept.popitem()[1].end()


def identity(ctx: ServerRequestContext[Any, Any]) -> dict[str, Any]:
    """Return the name that the `client` gives itself, and the `user` of an access token."""
    params, token = ctx.session.client_params, get_access_token()
    client = {"client": params.client_info.name} if params is not None else {}
    return client | ({"user": token.subject} if token is not None and token.subject is not None else {})


def _client(ctx: ServerRequestContext[Any, Any]) -> Hashable | None:
    """Return the identity of a client; None in the stateless HTTP protocol without authentication."""
    if ctx.request is None:
        return "the only one, on two streams"
    if _is_session(ctx):
        return f"session {ctx.request.headers.get('mcp-session-id')}"
    token = get_access_token()
    return principal_components(token) if token and (token.subject is not None or token.claims) else None


def _is_session(ctx: ServerRequestContext[Any, Any]) -> bool:
    """Return whether a request belongs to a session of 2025-11-25 over HTTP."""
    return ctx.request is not None and ctx.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
