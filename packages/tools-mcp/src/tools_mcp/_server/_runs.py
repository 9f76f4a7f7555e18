"""Which run a request belongs to, and the end of a run."""

from __future__ import annotations

import hashlib
import sys
from os import urandom
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import principal_components
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.context import ServerRequestContext

    from tools_core import Tool

_SALT = urandom(16)  # the id of a session is a secret between its client and this server; the id of a run is not
_FAREWELL = 5.0  # seconds for tools to end what belongs to a run


class Run:
    """One client's run: what is remembered between calls is kept under its id, which no other client shares.

    `is_kept` is False for a run of one call: a client of the stateless HTTP protocol cannot be recognised again, unless
    it has authenticated.
    """

    def __init__(self, id: str, *, is_kept: bool = True) -> None:
        self.id = id
        self.is_kept = is_kept
        self._enders: dict[str, Callable[[str], object]] = {}

    def note(self, tool: Tool) -> None:
        """Remember that a tool is called, whose package may have something to end with the run."""
        package = (getattr(tool, "__module__", None) or type(tool).__module__).partition(".")[0]
        if package not in self._enders and callable(end := getattr(sys.modules.get(package), "end_run", None)):
            self._enders[package] = end

    async def end(self) -> None:
        """Let the packages whose tools were called end what belongs to the run, such as background jobs."""
        enders, self._enders = self._enders, {}
        with anyio.move_on_after(_FAREWELL, shield=True):
            for end in enders.values():
                await anyio.to_thread.run_sync(end, self.id, abandon_on_cancel=True)


class Runs:
    """The runs of one connection, or of all clients of an HTTP server."""

    def __init__(self) -> None:
        self._connection = Run(urandom(8).hex())
        self._runs: dict[str, Run] = {}

    def of(self, ctx: ServerRequestContext[Any, Any]) -> Run:
        """Return the run of a request."""
        if ctx.request is None:  # one client on two streams
            return self._connection
        if ctx.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
            return self._named(f"session {ctx.request.headers.get('mcp-session-id')}")
        token = get_access_token()
        if token is not None and (token.subject is not None or token.claims):
            return self._named(f"principal {principal_components(token)}")
        return Run(urandom(8).hex(), is_kept=False)

    def _named(self, name: str) -> Run:
        id_ = hashlib.blake2b(name.encode(), key=_SALT, digest_size=8).hexdigest()
        return self._runs.setdefault(id_, Run(id_))

    async def end(self, run: Run) -> None:
        """End one run."""
        self._runs.pop(run.id, None)
        await run.end()

    async def end_all(self) -> None:
        """End all runs, with the connection or the server."""
        for run in [self._connection, *self._runs.values()]:
            await self.end(run)
