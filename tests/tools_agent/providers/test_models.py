"""The lists of models that servers offer."""

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tools_agent import AnthropicProvider, GeminiProvider, OpenAIProvider, ProviderError, list_models

OPENAI = {"object": "list", "data": [{"id": "b", "object": "model"}, {"id": "a", "object": "model"}]}
ANTHROPIC = {"data": [{"id": "claude", "type": "model", "display_name": "C", "created_at": "2026-01-01T00:00:00Z"}]}
GEMINI = {"models": [{"name": "models/flash"}]}


@pytest.fixture
def server():
    """A server with one answer to all requests: `server(200, {...})` is its address."""
    servers = []

    def start(status, answer):
        data = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(status)
                self.send_header("Content-Type", "text/html" if isinstance(answer, str) else "application/json")
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *words):
                """Print nothing."""

        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), Handler))
        threading.Thread(target=servers[-1].serve_forever, args=(0.01,), daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("provider", "answer", "names"),
    [
        (OpenAIProvider, OPENAI, ["a", "b"]),
        (AnthropicProvider, ANTHROPIC, ["claude"]),
        (GeminiProvider, GEMINI, ["flash"]),
        (OpenAIProvider, {"object": "list", "data": []}, []),
    ],
)
def test_a_provider_returns_the_models_of_its_server(server, provider, answer, names):
    assert asyncio.run(provider(api_key="key", base_url=server(200, answer)).models()) == names


@pytest.mark.parametrize("provider", [OpenAIProvider, AnthropicProvider, GeminiProvider])
@pytest.mark.parametrize(
    ("status", "answer"),
    [(404, {"error": {"message": "no"}}), (401, {"error": {"message": "bad key"}}), (200, "<html></html>")],
)
def test_a_server_without_a_list_of_models_is_an_error(server, provider, status, answer):
    with pytest.raises(ProviderError):
        asyncio.run(provider(api_key="key", base_url=server(status, answer)).models())


def test_each_configured_provider_has_its_models_or_its_error(server, monkeypatch):
    for name in ("ANTHROPIC_AUTH_TOKEN", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENROUTER_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.setenv("OPENAI_BASE_URL", server(200, OPENAI))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server(401, {"error": {"message": "bad key"}}))
    offers = asyncio.run(list_models())
    assert offers["openai"] == ["a", "b"]
    assert "bad key" in str(offers["anthropic"])
    assert "gemini" not in offers and "openrouter" not in offers
