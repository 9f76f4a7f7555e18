"""The tools for the web in a chat."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytest.importorskip("tools_web", reason="tools_web is tested in the environment of the repository")
pytestmark = pytest.mark.slow
PAGE = (
    b"<html><body><article><h1>Tides</h1><p>High water is at noon, as all fishermen know.</p></article></body></html>"
)


class Site(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    do_POST = do_GET

    def log_message(self, *words):
        """Print nothing."""


@pytest.fixture
def site(place):
    """The address of a page that the user's settings allow."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        settings = place.parent / "XDG_CONFIG_HOME/ask-tools/settings.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(f'[web]\nprivate = ["127.0.0.1:{server.server_port}"]\n')
        settings.chmod(0o600)
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_a_model_reads_a_page_saves_it_and_posts_after_a_yes(open_chat, model, site, place):
    model.replies = [
        [("web_fetch", {"url": site})],
        [("web_download", {"url": site, "path": "tides.html"})],
        [("http_request", {"method": "POST", "url": site, "json": {"seen": True}})],
        ["It is noon."],
    ]
    chat = open_chat("--tools", "tools-web", model="openai:gpt-5")
    chat.wait_for("mode ask ")
    chat.type("When is high water?\r")
    for tool in ("web_fetch", "web_download", "http_request"):
        chat.wait_for(f"{tool} needs approval", "answer:")
        chat.type("y\r")
    chat.wait_for("It is noon.")
    assert "High water is at noon" in str(model.requests[1])
    assert (place / "tides.html").read_bytes() == PAGE
