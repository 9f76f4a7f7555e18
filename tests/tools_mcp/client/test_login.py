"""Logins to a remote server, tried with an authorization server that checks each step."""

from __future__ import annotations

import json
import stat
import sys
import threading
from base64 import urlsafe_b64encode
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

VISITOR = "import sys, urllib.request; urllib.request.urlopen(sys.argv[1]).read()"
INFO = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "n", "version": "1"}}
RESULTS = {
    "initialize": INFO,
    "tools/list": {"tools": [{"name": "whoami", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "ann"}]},
}


class Issuer(BaseHTTPRequestHandler):
    """A server at /mcp and its authorization server, whose access tokens `valid` names."""

    valid: set[str] = set()
    log: list[str] = []
    challenge = ""

    def url(self, path=""):
        return f"http://127.0.0.1:{self.server.server_port}{path}"

    def reply(self, status, data, **headers):
        body = json.dumps(data).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": len(body), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        target = urlsplit(self.path)
        query = dict(parse_qsl(target.query))
        if target.path.startswith("/.well-known/oauth-protected-resource"):
            self.reply(200, {"resource": self.url("/mcp"), "authorization_servers": [self.url()]})
        elif target.path.startswith("/.well-known/oauth-authorization-server"):
            places = {f"{name}_endpoint": self.url(f"/{name}") for name in ("authorization", "token", "registration")}
            methods = {"code_challenge_methods_supported": ["S256"], "response_types_supported": ["code"]}
            self.reply(200, {"issuer": self.url(), **places, **methods})
        elif target.path == "/authorization":
            Issuer.challenge = query["code_challenge"]
            back = f"{query['redirect_uri']}?{urlencode({'code': 'c1', 'state': query['state']})}"
            self.reply(302, {}, Location=back)
        else:
            self.reply(404, {})

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/registration":
            self.reply(201, {**json.loads(body), "client_id": "me"})
        elif self.path == "/token":
            form = dict(parse_qsl(body.decode()))
            Issuer.log.append(form["grant_type"])
            if form["grant_type"] == "authorization_code":
                digest = urlsafe_b64encode(sha256(form["code_verifier"].encode()).digest()).decode().rstrip("=")
                assert (form["code"], digest) == ("c1", Issuer.challenge)
            else:
                assert "again" in form["refresh_token"]
            token = f"t{len(Issuer.log)}"
            Issuer.valid.add(token)
            fields = {"token_type": "Bearer", "expires_in": 3600, "refresh_token": "again"}
            self.reply(200, {"access_token": token, **fields})
        elif self.headers.get("Authorization", "").removeprefix("Bearer ") not in Issuer.valid:
            self.reply(401, {}, WWW_Authenticate="Bearer")
        else:
            request = json.loads(body)
            answer = {"jsonrpc": "2.0", "id": request.get("id"), "result": RESULTS.get(request["method"], {})}
            self.reply(200 if "id" in request else 202, answer)

    def log_message(self, *_):
        """Print nothing."""


@pytest.fixture
def url(tmp_path, monkeypatch):
    """The URL of the server, and a browser that follows redirects."""
    (tmp_path / "visitor.py").write_text(VISITOR)
    monkeypatch.setattr("webbrowser._tryorder", None)  # of an earlier test
    monkeypatch.setenv("BROWSER", f"{sys.executable} {tmp_path}/visitor.py %s")
    monkeypatch.setattr(Issuer, "valid", set())
    monkeypatch.setattr(Issuer, "log", [])
    with ThreadingHTTPServer(("127.0.0.1", 0), Issuer) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/mcp"
        server.shutdown()


@pytest.fixture(autouse=True)
def keyrings(monkeypatch):
    """The module `keyring`, without the keyring of the user who runs the tests; None if it is not installed."""
    if find_spec("keyring") is None:
        yield None
        return
    import keyring

    monkeypatch.syspath_prepend(Path(__file__).parent)
    before = keyring.get_keyring()
    keyring.set_keyring(keyring.core.load_keyring("keyring.backends.fail.Keyring"))
    yield keyring
    keyring.set_keyring(before)


def test_a_login_in_the_browser_is_stored_in_a_private_file_and_used(url, ask_tools, tmp_path):
    done = ask_tools("mcp", "add", "notes", url, "--login", "--yes")
    assert "/authorization?" in done.err
    assert ask_tools("call", "notes_whoami").out == "ann\n"
    assert Issuer.log == ["authorization_code"]
    (login,) = (tmp_path / "config/ask-tools/mcp-logins").iterdir()
    assert stat.S_IMODE(login.stat().st_mode) == 0o600
    assert "t1" not in (tmp_path / "config/ask-tools/mcp.json").read_text()
    ask_tools("mcp", "remove", "notes")
    assert not login.exists()


@pytest.mark.skipif(find_spec("keyring") is None, reason="needs keyring")
def test_a_login_is_stored_in_the_keyring(url, ask_tools, tmp_path, keyrings):
    keyrings.set_keyring(keyrings.core.load_keyring("keyring_in_a_file.Keyring"))
    ask_tools("mcp", "add", "notes", url, "--login", "--yes")
    assert not (tmp_path / "config/ask-tools/mcp-logins").exists()
    assert "t1" in (tmp_path / "keyring.json").read_text()
    assert ask_tools("call", "notes_whoami").out == "ann\n"
    ask_tools("mcp", "remove", "notes")
    assert "t1" not in (tmp_path / "keyring.json").read_text()


def test_an_expired_token_is_refreshed_without_a_browser(url, ask_tools, tmp_path):
    ask_tools("mcp", "add", "notes", url, "--login", "--yes")
    (login,) = (tmp_path / "config/ask-tools/mcp-logins").iterdir()
    login.write_text(json.dumps({**json.loads(login.read_text()), "expires_at": 1}))
    Issuer.valid.clear()
    assert ask_tools("call", "notes_whoami").out == "ann\n"
    assert {*Issuer.log[1:]} == {"refresh_token"}


def test_a_revoked_login_is_an_error_that_names_the_command(url, ask_tools):
    ask_tools("mcp", "add", "notes", url, "--login", "--yes")
    Issuer.valid.clear()
    assert "run `ask-tools mcp login NAME`" in ask_tools("call", "notes_whoami", status=1).err
    ask_tools("mcp", "login", "notes")
    assert ask_tools("call", "notes_whoami").out == "ann\n"


def test_a_server_without_logins_is_reported(ask_tools, web):
    error = ask_tools("mcp", "add", "notes", web(None), "--login", "--yes", status=1).err
    assert "notes: the login failed: the server requires no login" in error
