"""`Guard`: keep other web sites and other users of this machine away from the application."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse

if TYPE_CHECKING:
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

    The first URL contains a random token, which becomes a cookie. A `Host` other than this address means that another
    site has pointed its name here; an `Origin` other than this address means that its page sends the request.
    """

    def __init__(self, app: ASGIApp, *, token: str, port: int) -> None:
        self._app = app
        self._token = token
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        self._cookie = f"ask-tools-ui-{port}"  # browsers send cookies to all ports of a host

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
        if self._is_token(request.query_params.get("token")):
            query = urlencode([pair for pair in parse_qsl(request.url.query) if pair[0] != "token"])
            response = RedirectResponse(f"{request.url.path}{'?' if query else ''}{query}", 303)
            response.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
            return response
        if not self._is_token(request.cookies.get(self._cookie)):
            return PlainTextResponse("Open the address with the token that `ask-tools ui` printed.", 401)
        return None

    def _is_token(self, text: str | None) -> bool:
        return text is not None and hmac.compare_digest(text.encode(), self._token.encode())
