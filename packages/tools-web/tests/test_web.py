"""Tests of the `web` tools, with a server of this machine that stands for the web."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tools_core import Context

from tools_web import WebTools

PAGE = """<html><head><title>Tides</title><script>alert(1)</script></head><body><nav><a href="/">Home</a></nav>
<article><h1>Tides of Oslo</h1><p>High water is at noon, and <a href="/low">low water</a> six hours later, each day
of the year, as fishermen have known for many centuries.</p><ul class="times"><li>06:00</li><li>18:00</li></ul>
</article></body></html>"""
BODIES = {
    "/tides": ("text/html; charset=utf-8", PAGE.encode()),
    "/latin": ("text/html", '<meta charset="latin-1"><p>Grüße</p>'.encode("latin-1")),
    "/data": ("application/json", b'{"level": 3, "place": "Oslo"}'),
    "/long": ("text/plain", b"0123456789" * 3_000),
    "/picture": ("image/png", b"\x89PNG" + bytes(1000)),
}


class Site(BaseHTTPRequestHandler):
    """Serves the bodies, and the answers of search providers."""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        hit = {
            "title": "Tides",
            "url": "https://tides.example/",
            "content": "High water",
            "description": "High water",
        }
        replies: dict[str, Any] = {
            "/search": {"results": [hit]},
            "/res/v1/web/search": {"web": {"results": [hit]}},
        }
        if path in replies:
            self._send("application/json", json.dumps(replies[path]).encode())
        elif path in BODIES:
            self._send(*BODIES[path])
        else:
            self.send_error(int(path[1:]) if path[1:].isdecimal() else 404)

    def do_POST(self) -> None:
        if self.path == "/search":
            self.do_GET()
        else:
            self._send("application/json", self.rfile.read(int(self.headers["Content-Length"])))

    def _send(self, media_type: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Write nothing."""


@pytest.fixture
def site() -> Iterator[str]:
    """The address of the server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def web(site: str) -> WebTools:
    """The tools, with permission to use that server."""
    return WebTools({"private": [site.removeprefix("http://")]})


def fetch(web: WebTools, url: str, **arguments: Any) -> Any:
    return web.tool("web_fetch").call({"url": url, **arguments}, Context(run_id=url + str(arguments)))


def test_a_page_becomes_its_main_text_with_links(web: WebTools, site: str) -> None:
    text = str(fetch(web, f"{site}/tides"))
    assert "Tides of Oslo" in text and f"[low water]({site}/low)" in text
    assert "alert" not in text and "Home" not in text


def test_a_selector_returns_parts_of_a_page(web: WebTools, site: str) -> None:
    assert str(fetch(web, f"{site}/tides", selector="ul.times li", format="text")) == "06:00\n18:00"
    assert fetch(web, f"{site}/tides", selector="table").error_type == "not_found"


@pytest.mark.parametrize(
    ("format", "expected"),
    [("raw", PAGE), ("html", PAGE), ("text", "Home\nTides of Oslo\nHigh water is at noon, and")],
)
def test_each_format_returns_what_it_says(format: str, expected: str, web: WebTools, site: str) -> None:
    assert str(fetch(web, f"{site}/tides", format=format)).startswith(expected)


def test_a_charset_in_the_page_is_used(web: WebTools, site: str) -> None:
    assert "Grüße" in str(fetch(web, f"{site}/latin"))


def test_json_is_text_and_a_picture_is_for_downloads(web: WebTools, site: str) -> None:
    assert str(fetch(web, f"{site}/data")) == '{"level": 3, "place": "Oslo"}'
    assert "use web_download" in str(fetch(web, f"{site}/picture"))
    assert fetch(web, f"{site}/missing").error_type == "not_found"


@pytest.mark.parametrize(
    ("status", "error_type"),
    [(404, "not_found"), (410, "not_found"), (429, "unavailable"), (503, "unavailable")],
)
def test_the_type_of_an_error_says_whether_a_page_may_come_later(
    status: int, error_type: str, web: WebTools, site: str
) -> None:
    assert fetch(web, f"{site}/{status}").error_type == error_type


def test_a_long_text_continues_at_an_offset(web: WebTools, site: str) -> None:
    first = str(fetch(web, f"{site}/long"))
    assert first.endswith("(characters 0 to 20,000 of 30,000; continue with offset=20000)")
    assert str(fetch(web, f"{site}/long", offset=20_000)) == "0123456789" * 1_000


@pytest.mark.parametrize("provider", ["searxng", "brave", "tavily"])
def test_a_search_lists_pages(provider: str, site: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCH_KEY", "k")
    web = WebTools({"search": {"provider": provider, "url": site, "env": "SEARCH_KEY"}})
    result = web.tool("web_search").call({"query": "tides"})
    assert str(result) == "1. Tides\n   https://tides.example/\n   High water"


def test_without_a_provider_a_search_says_which_lines_to_add() -> None:
    assert "[web.search]" in str(WebTools({}).tool("web_search").call({"query": "tides"}))


def test_a_download_replaces_no_file_unless_told_to(web: WebTools, site: str, tmp_path: Path) -> None:
    download, context = web.tool("web_download"), Context(workspace=tmp_path)
    arguments = {"url": f"{site}/picture", "path": "pictures/tide.png"}
    assert str(download.call(arguments, context)) == "Wrote 1,004 bytes to pictures/tide.png."
    assert download.call(arguments, context).error_type == "conflict"
    assert download.call({**arguments, "overwrite": True}, context).ok
    assert [path.name for path in (tmp_path / "pictures").iterdir()] == ["tide.png"]


def test_an_approved_request_is_sent(web: WebTools, site: str) -> None:
    context = Context()
    context.approved = True
    arguments = {"method": "POST", "url": f"{site}/levels", "json": {"level": 4}}
    result = web.tool("http_request").call(arguments, context)
    assert result.output["status"] == 200 and result.output["body"] == '{"level":4}'
