"""`Guard`: keep other web sites and other users of this machine away from the application."""

from __future__ import annotations

import hmac
from secrets import token_urlsafe
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

# No inline code or styles, nothing from another server: a result that looks like HTML stays text, and if a page had a
# hole, it could neither run a script nor send data away.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


class Guard:
    """Middleware that serves only the browser of the person who started the application.

    A URL contains a random token, which is exchanged once for a cookie; then `announce` receives the next one. Browsers
    send cookies to all ports of a host, so the cookie is for the path `root`, which no other server knows. A `Host`
    other than this address means that another site has pointed its name here; an `Origin` other than this address means
    that its page sends the request.
    """

    def __init__(self, app: ASGIApp, *, root: str, port: int, announce: Callable[[str], None]) -> None:
        self._app = app
        self._root, self._port, self._announce = root, port, announce
        self._secret = token_urlsafe(24)
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        self._cookie = "ask-tools-ui"
        self._renew()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a refused request, and pass on any other."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        response = self._answer(Request(scope))

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        await (self._app if response is None else response)(scope, receive, send_with_headers)

    def _answer(self, request: Request) -> Response | None:
        """Return the response to a refused request, or to the first one; None for any other."""
        origin = request.headers.get("origin")
        if request.headers.get("host") not in self._hosts:
            return PlainTextResponse("Wrong host: open the address that `ask-tools ui` printed.", 403)
        if origin is not None and origin.removeprefix("http://") not in self._hosts:
            return PlainTextResponse("Requests of other sites are refused.", 403)
        if request.method != "GET" and origin is None and request.headers.get("sec-fetch-site") != "same-origin":
            return PlainTextResponse("Only pages of this application may change anything.", 403)
        if not request.url.path.startswith(f"{self._root}/"):
            return PlainTextResponse("Open the address that `ask-tools ui` printed last.", 401)
        if _equal(request.cookies.get(self._cookie), self._secret):
            return None
        if not _equal(request.query_params.get("token"), self._token):
            return PlainTextResponse("Open the address that `ask-tools ui` printed last: each is for one browser.", 401)
        self._renew()
        query = urlencode([pair for pair in parse_qsl(request.url.query) if pair[0] != "token"])
        response = RedirectResponse(f"{request.url.path}{'?' if query else ''}{query}", 303)
        # Not "strict": a file sends the browser here.
        response.set_cookie(self._cookie, self._secret, path=f"{self._root}/", httponly=True, samesite="lax")
        return response

    def _renew(self) -> None:
        self._token = token_urlsafe(24)
        self._announce(f"http://127.0.0.1:{self._port}{self._root}/?token={self._token}")


def _equal(text: str | None, secret: str) -> bool:
    return text is not None and hmac.compare_digest(text.encode(), secret.encode())
