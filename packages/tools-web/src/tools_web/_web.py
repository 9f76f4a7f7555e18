"""The tools for the web."""

from collections.abc import Mapping
from json import dumps
from typing import Annotated, Any, Literal

import httpx2
from tools_core import Context, Limits, Result, ToolError, Toolset, tool
from tools_core.files import check_can_change, new_file

from tools_web._http import RESERVED, pieces, request
from tools_web._page import Form, decoded, text_of
from tools_web._search import search
from tools_web._settings import Settings

_PAGE = 20_000  # characters of one result
_MAX_PAGE = 10_000_000  # bytes
Url = Annotated[str, "Address, with https:// or http://"]
Method = Literal["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]


class WebTools(Toolset):
    """Tools for pages, searches, downloads and HTTP APIs, never in private networks.

    Args:
        settings: What `[web]` of the user's settings would be: `allow`, `deny`, `private`, `search`, `credentials`.
    """

    prefix = False

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        self._given = settings
        self._pages: dict[tuple[str, ...], str] = {}

    @tool(read_only=True, open_world=True, timeout=90)
    def web_fetch(
        self,
        context: Context,
        url: Url,
        format: Annotated[Form, "Main text as Markdown, all text, HTML, or the body as it is"] = "markdown",
        selector: Annotated[str, "CSS selector of the parts to return"] = "",
        offset: Annotated[int, "Character to start from", Limits(ge=0)] = 0,
    ) -> str:
        """Fetch a page, JSON or a PDF of the web, at most 20,000 characters at once. Use it to read an address that you know;
        web_search finds others. Private networks are refused.
        """
        key = (context.run_id, url, format, selector)
        text = self._pages.get(key)
        if text is None:
            with request(Settings(self._given), context, "GET", url) as response:
                body = b"".join(pieces(response, _MAX_PAGE))
            text = text_of(body, dict(response.headers), response.charset_encoding, str(response.url), format, selector)
            self._pages[key] = text
            for old in list(self._pages)[:-32]:
                self._pages.pop(old, None)  # unless another thread did
        end = offset + _PAGE
        rest = f"\n\n(characters {offset:,} to {end:,} of {len(text):,}; continue with offset={end})"
        return (text[offset:end] or "(nothing from here on)") + (rest if end < len(text) else "")

    @tool(read_only=True, open_world=True, timeout=30)
    def web_search(
        self,
        query: Annotated[str, "Words to look for"],
        limit: Annotated[int, "Pages to return", Limits(ge=1, le=20)] = 8,
        site: Annotated[str, "Host to search in, such as docs.python.org"] = "",
    ) -> Result:
        """Search the web for pages. Use it for what you do not know; then read pages with web_fetch."""
        hits = search(Settings(self._given).search, f"{query} site:{site}" if site else query, limit)
        lines = [f"{n}. {hit['title']}\n   {hit['url']}\n   {hit['text'][:500]}" for n, hit in enumerate(hits, 1)]
        return Result.ok(hits, content="\n".join(lines) or "No page was found.")

    @tool(open_world=True, timeout=900)
    def web_download(
        self,
        context: Context,
        url: Url,
        path: Annotated[str, "File to write, in the workspace"],
        overwrite: Annotated[bool, "Whether to replace a file"] = False,
    ) -> str:
        """Download a file of at most 1 GB into the workspace. Use it for pictures, archives and data; web_fetch reads text."""
        with new_file(path, context.workspace, overwrite=overwrite) as file:
            with request(Settings(self._given), context, "GET", url) as response:
                total = response.headers.get("content-length", "")
                for piece in pieces(response, 10**9):
                    file.write(piece)
                    context.progress(file.tell(), float(total) if total.isdecimal() else None, "bytes")
            return f"Wrote {file.tell():,} bytes to {path}."

    @tool(open_world=True, timeout=90)
    def http_request(
        self,
        context: Context,
        method: Annotated[Method, "Method of HTTP, such as POST"],
        url: Url,
        headers: Annotated[Mapping[str, str], "Headers by name, such as {'Accept': 'text/csv'}"] = {},
        json: Annotated[dict[str, Any] | list[dict[str, Any]] | None, "Body, as JSON; pass other JSON as body"] = None,
        body: Annotated[str, "Body, as text"] = "",
        credential: Annotated[str, "Name of a credential of the user, for its hosts alone"] = "",
    ) -> Result:
        """Call an HTTP API. To read pages, use web_fetch. Methods that may change something need the user's approval."""
        settings, hidden = Settings(self._given), ""
        sent = {name.title(): value for name, value in headers.items()}
        for name in filter(RESERVED.fullmatch, sent):
            raise ToolError(f"the header {name} follows from the other arguments; leave it out", "denied")
        if json is not None and body:
            raise ToolError("pass json or body, not both", "validation_error")
        if credential:
            name, value, hidden = settings.header(credential, httpx2.URL(url))
            sent[name.title()] = value
        if method not in ("GET", "HEAD", "OPTIONS"):
            check_can_change()
            context.confirm(f"{method} {url}")
        content = {"headers": sent, "json": json, "content": body or None}
        with request(settings, context, method, url, is_page=False, **content) as response:
            text = decoded(b"".join(pieces(response, _MAX_PAGE)), response.charset_encoding)
        fields = dict(response.headers)
        if hidden:  # also as JSON shows it
            text = text.replace(hidden, "***").replace(dumps(hidden)[1:-1], "***")
            fields = {name: value.replace(hidden, "***") for name, value in fields.items()}
        rest = f"\n(the first {_PAGE:,} of {len(text):,} characters)" if len(text) > _PAGE else ""
        answer = {"status": response.status_code, "headers": fields, "body": text}
        return Result.ok(answer, content=f"{answer['status']}\n\n{text[:_PAGE]}{rest}")
