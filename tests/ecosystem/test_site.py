"""The documentation site builds without warnings, and works without a network."""

from __future__ import annotations

import functools
import http.server
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the built site."""
    pytest.importorskip("mkdocs", reason="mkdocs is not installed")
    folder = tmp_path_factory.mktemp("site")
    for command in (["docs/build.py"], ["-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]):
        process = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)
        assert process.returncode == 0, process.stdout + process.stderr
    return folder


def test_links_between_pages_lead_to_a_page_and_a_heading(site):
    texts = {page: page.read_text(encoding="utf-8") for page in site.rglob("*.html") if page.name != "404.html"}
    identifiers = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in texts.items()}
    broken = []
    for page, text in texts.items():
        for address in re.findall(r'<a [^>]*href="([^":]+)"', text):
            path, _, anchor = address.partition("#")
            target = (page.parent / path).resolve() if path else page
            if not target.exists() or (anchor and anchor not in identifiers.get(target, ())):
                broken.append(f"{page.relative_to(site)}: {address}")
    assert broken == []


def test_search_finds_pages_and_nothing_is_requested_from_other_hosts(site):
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, playwright.sync_playwright() as driver:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        requests = []
        page.on("request", lambda request: requests.append(request.url))
        page.goto(f"{address}/index.html")
        page.get_by_placeholder("Search").press_sequentially("undo")
        page.locator(".md-search-result__link", has_text="Preview and undo").first.wait_for()
        browser.close()
        server.shutdown()
    assert [url for url in requests if not url.startswith(address)] == []
