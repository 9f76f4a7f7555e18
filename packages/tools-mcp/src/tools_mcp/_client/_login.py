"""Logins to remote servers by OAuth: the SDK's client, with tokens in the keyring or in private files."""

from __future__ import annotations

import asyncio
import json
import time
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import anyio
import anyio.to_thread
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthMetadata, OAuthToken

from tools_core import ToolError
from tools_core.files import config_path, replace
from tools_mcp._client._messages import Connection
from tools_mcp._client._transport import connect

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.client.auth.oauth2 import OAuthContext

    from tools_mcp._client._address import Address

_LIMIT = 300.0  # seconds for the user
_SERVICE = "ask-tools mcp"  # in the keyring
_PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nYou can close this page now.\n"


async def log_in(address: Address, show: Callable[[str], object]) -> None:
    """Let the user log in to a server in a browser, and store the tokens; `show` shows the page of the issuer.

    Raises: ToolError if the server requires no login; errors of the SDK.
    """
    answers = asyncio.Queue[dict[str, str]]()

    async def receive(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target = (await reader.readline()).decode("ascii", "replace").split(" ")[1:2]
        query = dict(parse_qsl(urlsplit("".join(target)).query))
        writer.write(_PAGE)
        writer.close()
        if "state" in query:
            answers.put_nowait(query)

    async def open_page(url: str) -> None:
        await anyio.to_thread.run_sync(show, url, abandon_on_cancel=True)  # some browsers run until they are closed

    async def code() -> AuthorizationCodeResult:
        query = await answers.get()
        return AuthorizationCodeResult(code=query.get("code", ""), state=query["state"], iss=query.get("iss"))

    write_tokens(address["url"], None)  # the issuer knows the client by another port
    async with await asyncio.start_server(receive, "127.0.0.1", 0) as server:
        callback = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/callback"
        auth = _provider(address["url"], callback, open_page, code)
        with anyio.fail_after(_LIMIT):
            async with Client(connect(address, Connection(), auth), cache=None):
                pass
    if "tokens" not in read_tokens(address["url"]):
        raise ToolError("the server requires no login")


def stored_login(url: str) -> OAuthClientProvider:
    """Return the authentication for requests, which refreshes tokens and asks no user."""

    async def refuse(_: str) -> None:
        raise ToolError("there is no login, or it has expired; run `ask-tools mcp login NAME`")

    async def code() -> AuthorizationCodeResult:
        raise AssertionError("refused before")

    return _provider(url, "http://127.0.0.1/callback", refuse, code)


def _provider(
    url: str,
    callback: str,
    redirect: Callable[[str], Awaitable[None]],
    code: Callable[[], Awaitable[AuthorizationCodeResult]],
) -> OAuthClientProvider:
    metadata = OAuthClientMetadata.model_validate(
        {
            "client_name": "ask-tools",
            "redirect_uris": [callback],
            "token_endpoint_auth_method": "none",
        }
    )
    storage = _Storage(url)
    provider = OAuthClientProvider(url, metadata, storage, redirect, code)
    storage.context = provider.context
    # The SDK restores neither, and so would open a browser instead of refreshing a token.
    provider.context.token_expiry_time = storage.data.get("expires_at")
    if "issuer" in storage.data:
        provider.context.oauth_metadata = OAuthMetadata.model_validate(storage.data["issuer"])
    return provider


class _Storage:
    """The tokens for one URL (`mcp.client.auth.TokenStorage`)."""

    context: OAuthContext

    def __init__(self, url: str) -> None:
        self._url = url
        self.data = read_tokens(url)

    async def get_tokens(self) -> OAuthToken | None:
        return OAuthToken.model_validate(self.data["tokens"]) if "tokens" in self.data else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        issuer = self.context.oauth_metadata
        expires_at = None if tokens.expires_in is None else time.time() + tokens.expires_in
        await self._write("tokens", tokens, expires_at=expires_at, issuer=issuer and issuer.model_dump(mode="json"))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return OAuthClientInformationFull.model_validate(self.data["client"]) if "client" in self.data else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        await self._write("client", client_info)

    async def _write(self, key: str, value: OAuthToken | OAuthClientInformationFull, **more: Any) -> None:
        self.data |= {key: value.model_dump(mode="json", exclude_none=True)}
        self.data |= {name: part for name, part in more.items() if part is not None}
        await anyio.to_thread.run_sync(write_tokens, self._url, self.data)


def read_tokens(url: str) -> dict[str, Any]:
    """Return what is stored for a URL."""
    keyring = _keyring()
    try:
        text = keyring.get_password(_SERVICE, url) if keyring else _path(url).read_text()
    except FileNotFoundError:
        text = None
    return dict(json.loads(text)) if text else {}


def write_tokens(url: str, data: dict[str, Any] | None) -> None:
    """Store the tokens for a URL, or remove them."""
    keyring, path = _keyring(), _path(url)
    if keyring and data is not None:
        keyring.set_password(_SERVICE, url, json.dumps(data))
    elif keyring:
        if keyring.get_password(_SERVICE, url) is not None:
            keyring.delete_password(_SERVICE, url)
    elif data is None:
        path.unlink(missing_ok=True)
    else:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace(path, json.dumps(data).encode(), mode=0o600)


def _path(url: str) -> Path:
    return Path(config_path(f"mcp-logins/{sha256(url.encode()).hexdigest()[:16]}.json"))


def _keyring() -> Any:
    """Return the module `keyring` if it is installed and has a place for secrets."""
    try:
        import keyring  # type: ignore[import-not-found, unused-ignore]  # an extra
    except ImportError:
        return None
    return keyring if keyring.get_keyring().priority >= 1 else None
