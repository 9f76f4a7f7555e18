"""The server over HTTP: who may call it, and its graceful end."""

from __future__ import annotations

import hmac
import socket
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import uvicorn
from mcp.server.auth.settings import AuthSettings
from starlette.datastructures import Headers
from starlette.responses import JSONResponse

from tools_mcp._server._hosts import checks, in_url, is_loopback

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.lowlevel import Server as LowLevelServer
    from starlette.applications import Starlette
    from starlette.types import ASGIApp, Receive, Scope, Send

    from tools_mcp._server._oauth import OAuth

PATH = "/mcp"
_FAREWELL = 3  # seconds for calls to end after SIGTERM


def make_app(
    lowlevel: LowLevelServer[Any], host: str, url: str | None, token: str | None, oauth: OAuth | None
) -> Starlette:
    """Return the ASGI application; ValueError for options that exclude each other."""
    security = checks(host, url)
    if oauth is None:
        app = lowlevel.streamable_http_app(streamable_http_path=PATH, transport_security=security)
        if token is not None:
            app.add_middleware(RequireToken, token=token)
        return app
    if token is not None:
        raise ValueError("a server has a token or an OAuth issuer, not both")
    auth = AuthSettings.model_validate(
        {
            "issuer_url": oauth.issuer,
            "resource_server_url": url or oauth.audience,
            "required_scopes": list(oauth.scopes) or None,
            "validate_token_resource": False,  # OAuth has checked the audience
        }
    )
    return lowlevel.streamable_http_app(
        streamable_http_path=PATH, transport_security=security, auth=auth, token_verifier=oauth
    )


class RequireToken:
    """Middleware that refuses requests without the one bearer token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with 401."""
        if scope["type"] == "http":
            scheme, _, given = Headers(scope=scope).get("authorization", "").partition(" ")
            is_right = hmac.compare_digest(given.strip().encode(), self._expected)
            if scheme.lower() != "bearer" or not is_right:
                body = {"error": "invalid_token", "error_description": "send the header `Authorization: Bearer TOKEN`"}
                await JSONResponse(body, 401, {"WWW-Authenticate": "Bearer"})(scope, receive, send)
                return
        await self._app(scope, receive, send)


def check_exposure(host: str, *, is_protected: bool) -> None:
    """Raise ValueError for a server that others could reach over the network without a token."""
    if not is_protected and not is_loopback(host):
        raise ValueError(
            f"{host} can be reached from other machines, and whoever reaches the server can use its tools. "
            "Give it a token or an OAuth issuer, or serve on 127.0.0.1."
        )


def run(app: Starlette, host: str, port: int, close: Callable[[], None]) -> None:
    """Serve until SIGINT or SIGTERM; `close` ends streams that would otherwise stay open."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.create_server((host.strip("[]"), port), family=family, backlog=2048)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # asyncio does this only for sockets that it made
    port = listening.getsockname()[1]
    sys.stderr.write(f"Serving http://{in_url(host)}:{port}{PATH}; end with Ctrl-C\n")
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=_FAREWELL
    )
    with suppress(KeyboardInterrupt), listening:
        _HTTPServer(config, close).run(sockets=[listening])


class _HTTPServer(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, close: Callable[[], None]) -> None:
        super().__init__(config)
        self._close = close

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._close()
        await super().shutdown(sockets)
