"""Clients of other authors list and call our tools: each in a separate environment, by a program in `clients/`."""

import json
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
# The file of versions in `constraints/`, the package, the program and its options.
CLIENTS = {
    "sdk": ("sdk", "mcp", "sdk.py"),
    "sdk, the era before": ("sdk", "mcp", "sdk.py", "--legacy"),
    "fastmcp": ("fastmcp", "fastmcp", "fastmcp_client.py"),
    "pydantic-ai": ("pydantic-ai", "pydantic-ai-slim[mcp]", "pydantic_ai_agent.py"),
    "openai-agents": ("openai-agents", "openai-agents", "openai_agents.py"),
    "langchain": ("langchain", "langchain-mcp-adapters", "langchain_adapter.py"),
}


@pytest.fixture(scope="module", params=CLIENTS)
def client(request, environment_with, environ, tmp_path_factory):
    """Run a client's program with a server: `client(place, *words)` is its report."""
    name, package, program, *options = CLIENTS[request.param]
    python = environment_with(f"mcp-{name}", [], [package], HERE / f"constraints/{name}.txt")

    def client(*server):
        command = [python, HERE / "clients" / program, json.dumps(server), *options]
        folder = tmp_path_factory.mktemp("client")
        completed = subprocess.run(
            command, cwd=folder, env=environ, capture_output=True, text=True, check=False, timeout=120
        )
        assert completed.returncode == 0, completed.stderr
        return json.loads(completed.stdout)

    client.name = request.param
    return client


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_client_lists_calls_and_sees_errors_images_structure_and_progress(
    transport, client, fixture_server, fixture_url
):
    report = client(*(fixture_server if transport == "stdio" else [fixture_url]))
    assert {"add_numbers", "test_error_handling", "json_schema_2020_12_tool"} <= set(report["tools"])
    assert report["sum"] == {"sum": 5}
    assert "intentionally" in report["error"]
    assert report["image"] == ["image", "image/png", 92]
    if client.name not in ("pydantic-ai", "openai-agents"):  # these pass neither on
        assert report["progress"] == [0, 50, 100]
        assert report["approved"] == "yes"
    if client.name.startswith("sdk"):
        assert report["protocol"] == ("2026-07-28" if client.name == "sdk" else "2025-11-25")
