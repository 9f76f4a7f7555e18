"""`OAuth`: access tokens of an authorization server, verified by its published keys."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx2
import jwt
from mcp.client.auth.utils import build_oauth_authorization_server_metadata_discovery_urls
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.routes import validate_issuer_url
from pydantic import AnyHttpUrl

_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
_FRESH = 3600.0  # seconds that keys are used before they are read again
_PAUSE = 30.0  # seconds between reads for keys that are not known: a client can make up any number of them


@dataclass
class OAuth:
    """Verifies JWT access tokens of `issuer` for `audience` with all `scopes`.

    The server is a resource server: its metadata (RFC 9728) names the issuer, whose metadata names its keys.

    Raises: ValueError for an issuer without TLS, except on this machine.
    """

    issuer: str
    audience: str
    scopes: tuple[str, ...] = ()
    _keys: dict[str | None, jwt.PyJWK] = field(default_factory=dict, init=False, repr=False)
    _read_at: float = field(default=float("-inf"), init=False, repr=False)
    _reading: asyncio.Task[None] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        validate_issuer_url(AnyHttpUrl(self.issuer))

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the claims of a token, or None if it is not valid (`mcp.server.auth.provider.TokenVerifier`)."""
        try:
            return await self._verified(token)
        except (jwt.PyJWTError, httpx2.HTTPError, ValueError, KeyError, TypeError):
            return None

    async def _verified(self, token: str) -> AccessToken:
        key = await self._key(jwt.get_unverified_header(token).get("kid"))
        claims: dict[str, Any] = jwt.decode(
            token, key, _ALGORITHMS, audience=self.audience, issuer=self.issuer,
            options={"require": ["exp", "iss", "aud"]}, leeway=10,
        )  # fmt: skip
        scopes = claims.get("scope", claims.get("scp", ()))
        return AccessToken(
            token=token,
            client_id=str(claims.get("client_id") or claims.get("azp") or ""),
            scopes=scopes.split() if isinstance(scopes, str) else [str(scope) for scope in scopes],
            expires_at=int(claims["exp"]),
            resource=self.audience,
            subject=None if claims.get("sub") is None else str(claims["sub"]),
            claims=claims,
        )

    async def _key(self, kid: str | None) -> jwt.PyJWK:
        """Return a key. Only tokens with an unknown key wait for the issuer; the old keys stay if it fails.

        `jwt.PyJWKClient` would read the keys again for each unknown key.
        """
        age = time.monotonic() - self._read_at
        if age > (_FRESH if kid in self._keys else _PAUSE) and (self._reading is None or self._reading.done()):
            self._read_at = time.monotonic()
            self._reading = asyncio.create_task(self._read_keys())
        if kid not in self._keys and self._reading is not None:
            await asyncio.wait({self._reading})
        return self._keys[kid]

    async def _read_keys(self) -> None:
        with suppress(jwt.PyJWTError, httpx2.HTTPError, ValueError, KeyError, TypeError):
            async with httpx2.AsyncClient(timeout=10) as client:
                for url in build_oauth_authorization_server_metadata_discovery_urls(self.issuer, self.issuer):
                    answer = await client.get(url)
                    if answer.is_success and answer.json().get("issuer") == self.issuer:
                        keys = (await client.get(answer.json()["jwks_uri"])).json()
                        self._keys = {key.key_id: key for key in jwt.PyJWKSet.from_dict(keys).keys}
                        return
