"""Only the browser of the person who started the studio can use it."""

from __future__ import annotations

import httpx2
import pytest


def test_the_token_becomes_a_cookie_that_scripts_cannot_read(serve):
    studio = serve(signed_in=False)
    first = studio.get(studio.url, follow_redirects=False)
    assert (first.status_code, first.headers["location"]) == (303, f"{studio.root}/")
    cookie = first.headers["set-cookie"].lower()
    assert f"; httponly; path={studio.root}/; samesite=lax".lower() in cookie
    assert studio.get("/").status_code == 200
    assert studio.get(studio.url).status_code == 200


def test_an_address_is_for_one_browser_and_the_next_one_is_printed(serve):
    studio = serve()
    assert httpx2.get(studio.url).status_code == 401
    printed = [studio.process.stderr.readline() for _ in range(2)][1]
    address = printed.partition("for another browser: ")[2].strip()
    with httpx2.Client(follow_redirects=True) as browser:
        assert browser.get(address).status_code == 200


@pytest.mark.parametrize("path", ["/", "/events", "/static/studio.js", "/sessions", "/?token=wrong"])
def test_requests_without_the_token_are_refused(studio, path):
    assert httpx2.get(f"{studio.base}{path}").status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},  # a name that another site points to this machine
        {"host": "127.0.0.1:1"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},  # another program of this machine
    ],
)
def test_requests_of_other_sites_are_refused(studio, headers):
    assert studio.get("/", headers=headers).status_code == 403
    assert studio.client.post("/tools/glob/calls", json={}, headers=headers).status_code == 403


def test_posts_without_an_origin_are_refused(studio):
    studio.client.headers.pop("origin")
    assert studio.post("/tools/glob/calls", {"arguments": {"pattern": "*"}}).status_code == 403


def test_pages_forbid_inline_code_frames_and_other_servers(studio):
    for path in ("/", "/tools/glob", "/static/studio.js", "/missing"):
        headers = studio.get(path).headers
        policy = dict(part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert policy["frame-ancestors"] == "'none'"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


def test_text_of_a_tool_never_becomes_a_part_of_the_page(studio):
    html = studio.run("shop.py:hostile", {})
    assert "&lt;script&gt;" in html
    assert "<script>" not in html
    assert "<img" not in html
    assert 'href="javascript' not in html
    assert "<strong>bold</strong>" in html


def test_no_page_contains_the_token_or_a_key(serve):
    studio = serve("--tools", "shop.py", OPENAI_API_KEY="sk-secret-value")
    token = studio.url.partition("=")[2]
    for path in ("/", "/list", "/problems", "/tools/shop.py%3Achart", "/chat", "/sessions", "/changes", "/evals"):
        text = studio.get(path).text
        assert token not in text
        assert "sk-secret" not in text
