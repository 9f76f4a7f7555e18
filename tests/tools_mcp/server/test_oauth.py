"""OAuth: only an access token of the issuer for this server counts, and each principal has a separate run."""

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import anyio
import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from starlette.testclient import TestClient

from tools_core import Context, tool
from tools_mcp import OAuth, Server

PROGRAM = [sys.executable, str(Path(__file__).with_name("program.py"))]
AUDIENCE = "https://tools.example.com/mcp"


class Issuer(ThreadingHTTPServer):
    """An authorization server: its metadata, its keys, and how often they were read."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.reads = 0
        self.is_failing = False

    def token(self, key=None, kid="one", algorithm="ES256", **changes):
        claims = {"iss": self.url, "aud": AUDIENCE, "exp": time.time() + 600, "sub": "ada", "scope": "tools"} | changes
        claims = {name: value for name, value in claims.items() if value is not None}
        key = None if algorithm == "none" else key or self.key
        return jwt.encode(claims, key, algorithm, headers={"kid": kid})


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        issuer = self.server
        public = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(issuer.key.public_key())) | {"kid": "one", "use": "sig"}
        answers = {
            "/.well-known/openid-configuration": {"issuer": issuer.url, "jwks_uri": f"{issuer.url}/keys"},
            "/keys": {"keys": [public]},
        }
        issuer.reads += issuer.is_failing or self.path == "/keys"
        self.send_response(503 if issuer.is_failing else 200 if self.path in answers else 404)
        self.end_headers()
        self.wfile.write(json.dumps(answers.get(self.path)).encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def issuer():
    with Issuer() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()  # so it ends at once
        yield server
        server.shutdown()


def verify(issuer, *tokens):
    oauth = OAuth(issuer.url, AUDIENCE)

    async def main():
        return [await oauth.verify_token(token) for token in tokens]

    return anyio.run(main)


def test_a_token_of_the_issuer_for_this_server_counts(issuer):
    [token] = verify(issuer, issuer.token(client_id="app", scope="tools read"))
    assert (token.subject, token.client_id, token.scopes, token.claims["iss"]) == (
        "ada", "app", ["tools", "read"], issuer.url,
    )  # fmt: skip


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": "https://other.example.com/mcp"},
        {"aud": None},
        {"iss": "https://other.example.com"},
        {"exp": 1},
        {"exp": None},
        {"nbf": 1e11},
        {"kid": "two"},
        {"key": ec.generate_private_key(ec.SECP256R1())},
        {"key": "0" * 32, "algorithm": "HS256"},
        {"algorithm": "none"},
        {"scope": 5},
    ],
    ids=lambda changes: " ".join(changes) if isinstance(changes, dict) else None,
)
def test_any_other_token_is_refused(issuer, changes):
    assert verify(issuer, issuer.token(**changes)) == [None]


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "é", "." * 10_000])
def test_malformed_tokens_are_refused(issuer, token):
    assert verify(issuer, token) == [None]


def test_unknown_keys_cause_one_read_of_the_issuer(issuer):
    assert verify(issuer, *(issuer.token(kid=f"made up {number}") for number in range(50))) == [None] * 50
    assert issuer.reads == 1


def test_a_failing_issuer_keeps_no_user_out(issuer, monkeypatch):
    oauth = OAuth(issuer.url, AUDIENCE)
    now = time.monotonic

    async def main():
        assert await oauth.verify_token(issuer.token())
        issuer.is_failing = True
        monkeypatch.setattr(time, "monotonic", lambda: now() + 7200)  # keys are read again after an hour
        assert await oauth.verify_token(issuer.token(kid="made up")) is None
        assert issuer.reads > 1
        assert await oauth.verify_token(issuer.token())

    anyio.run(main)


def test_an_issuer_without_tls_is_refused():
    with pytest.raises(ValueError, match="HTTPS"):
        OAuth("http://login.example.com", AUDIENCE)


@pytest.mark.slow
def test_each_principal_has_a_run_and_others_get_the_metadata(issuer, tmp_path, serving, envelope):
    params = {"name": "run", "arguments": {}, "_meta": envelope}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28"}
    headers |= {"Mcp-Method": "tools/call", "Mcp-Name": "run"}
    with serving(tmp_path, [*PROGRAM, "--http", issuer.url, AUDIENCE]) as (_, port):
        url = f"http://127.0.0.1:{port}"

        def post(token=None):
            sent = headers | ({"Authorization": f"Bearer {token}"} if token else {})
            return httpx2.post(f"{url}/mcp", headers=sent, json=body, timeout=60)

        def run(**changes):
            return post(issuer.token(**changes)).json()["result"]["content"][0]["text"]

        refused = post()
        assert refused.status_code == 401
        assert "resource_metadata=" in refused.headers["www-authenticate"]
        metadata = httpx2.get(f"{url}/.well-known/oauth-protected-resource/mcp", timeout=60).json()
        assert metadata["authorization_servers"] == [issuer.url]
        assert post(issuer.token(scope="other")).status_code == 403
        assert run() == run()
        assert run() != run(sub="eve")
        assert run() != run(client_id="other")


def test_a_call_knows_its_client_and_its_user(issuer, envelope):
    @tool(read_only=True)
    def who(context: Context) -> dict:
        """Return who calls."""
        return dict(context.state)

    params = {"name": "who", "arguments": {}, "_meta": envelope}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28"}
    headers |= {"Mcp-Method": "tools/call", "Mcp-Name": "who", "Authorization": f"Bearer {issuer.token()}"}
    with TestClient(Server([who]).http_app(oauth=OAuth(issuer.url, AUDIENCE))) as client:
        answer = client.post("/mcp", headers=headers | {"Host": "localhost"}, json=body).json()
    assert answer["result"]["structuredContent"] == {"client": "raw", "user": "ada"}
