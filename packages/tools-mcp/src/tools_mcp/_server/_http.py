"""The server over HTTP: authentication, checks of requests, connections, and shutdown."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import re
import resource
import socket
import sys
from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from uvicorn.protocols.http.auto import AutoHTTPProtocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.lowlevel import Server as LowLevelServer
    from starlette.applications import Starlette

    from tools_mcp._server._oauth import OAuth

_GRACE = 3  # seconds for calls to end after SIGTERM
_BACKLOG = 32  # connections; asyncio accepts as many at once, and logs an error for each without a descriptor
_MAX_CONNECTIONS = 2_000  # or half of the descriptors, since tools need some
_MAX_SESSIONS = 2_500
_SESSION_LIMIT = 600.0  # seconds without a request

_HTTPProtocol: Any = AutoHTTPProtocol  # the class that uvicorn has chosen


class Connection(_HTTPProtocol):  # type: ignore[misc]  # uvicorn has a protocol for each parser
    """A connection; if there are too many, one that waits for its client is closed for it.

    Anyone who can reach the port could hold all descriptors otherwise: uvicorn refuses requests beyond a limit, but
    closes no connection that has sent none.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Make room for the connection."""
        super().connection_made(transport)
        limit = min(resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2, _MAX_CONNECTIONS)
        if len(self.connections) > limit:
            next(filter(_is_waiting, self.connections - {self}), self).transport.close()


def _is_waiting(connection: Any) -> bool:
    """Return whether the client has to send more of a request."""
    cycle = connection.cycle
    is_unfinished = cycle is None or cycle.response_complete or cycle.more_body
    return is_unfinished and not connection.transport.is_closing()


class OneToken:
    """Verifies one fixed bearer token."""

    def __init__(self, token: str) -> None:
        self._expected = token.encode()

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return an anonymous access token, or None if the token is wrong (a `TokenVerifier` of the SDK)."""
        is_right = hmac.compare_digest(token.encode(), self._expected)
        return AccessToken(token=token, client_id="", scopes=[]) if is_right else None


def make_app(
    lowlevel: LowLevelServer[Any], host: str, url: str | None, token: str | None, oauth: OAuth | None
) -> Starlette:
    """Return the ASGI application; ValueError for options that exclude each other, and for an invalid URL."""
    public = oauth.audience if url is None and oauth is not None else url
    if public is not None and not re.match(r"https?://[^/]", public):
        raise ValueError(f"the URL of the server is such as https://tools.example.com/mcp, got {public!r}")
    if oauth is not None and token is not None:
        raise ValueError("a server has a token or an OAuth issuer, not both")
    auth = {
        "issuer_url": oauth.issuer if oauth else "http://localhost",  # not used: without OAuth there is no metadata
        "resource_server_url": public if oauth else None,
        "required_scopes": list(oauth.scopes) if oauth else [],
        "validate_token_resource": False,  # OAuth has checked the audience
    }
    verifier = oauth if token is None else OneToken(token)
    app = lowlevel.streamable_http_app(
        transport_security=_checks(host, url),
        auth=AuthSettings.model_validate(auth) if verifier else None,
        token_verifier=verifier,
        session_idle_timeout=_SESSION_LIMIT,
        max_sessions=_MAX_SESSIONS,
    )
    app.add_exception_handler(ClientDisconnect, lambda *_: Response(status_code=400))  # not an error of the server
    return app


def run(app: Starlette, host: str, port: int, close: Callable[[], None], token: str | None) -> None:
    """Serve until SIGINT or SIGTERM; `close` ends streams that would otherwise stay open. A new `token` is printed."""

    class HTTPServer(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            close()
            await super().shutdown(sockets)

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with suppress(KeyboardInterrupt), socket.create_server((host, port), family=family, backlog=_BACKLOG) as listening:
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # asyncio sets it for its own sockets only
        url = f"http://{_in_url(host)}:{listening.getsockname()[1]}/mcp"
        sys.stderr.write(f"Serving {url}; end with Ctrl-C\n")
        if token is not None:
            entry = {"url": url, "headers": {"Authorization": f"Bearer {token}"}}
            sys.stderr.write(f"Clients send this token: {json.dumps({'mcpServers': {'ask-tools': entry}})}\n")
        config = uvicorn.Config(
            app, http=Connection, backlog=_BACKLOG, log_level="warning", access_log=False, server_header=False,
            timeout_graceful_shutdown=_GRACE,
        )  # fmt: skip
        logging.getLogger("uvicorn.error").addFilter(_is_not_cancelled)
        HTTPServer(config).run(sockets=[listening])


def _is_not_cancelled(record: logging.LogRecord) -> bool:
    """Return False for the traceback of a call that the end of the server has cancelled."""
    return record.exc_info is None or not isinstance(record.exc_info[1], asyncio.CancelledError)


def is_loopback(host: str) -> bool:
    """Return whether only programs on this machine can reach a server on this host."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _checks(host: str, url: str | None) -> TransportSecuritySettings:
    """Return the hosts and origins that requests may name, so that a page in a browser cannot reach the server.

    A server on all addresses without a URL has names that it does not know: there its token is the protection.
    """
    names = [_in_url(host), *(("127.0.0.1", "localhost", "[::1]") if is_loopback(host) else ())]
    hosts = [pattern for name in names for pattern in (name, f"{name}:*")]
    origins = [f"http://{name}" for name in hosts]
    if url is not None:
        public = urlsplit(url)
        hosts.append(public.netloc)
        origins.append(f"{public.scheme}://{public.netloc}")
    is_known = url is not None or host not in ("0.0.0.0", "::", "")  # noqa: S104  (not bound here)
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=is_known, allowed_hosts=hosts, allowed_origins=origins
    )
