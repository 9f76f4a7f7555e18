"""The command of MCP Inspector, which lists tools as a client and checks if models and providers accept them."""

import json
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

pytestmark = pytest.mark.slow

RELEASE = "@modelcontextprotocol/inspector@2.12.0"
SERVE = [sys.executable, "-P", "-m", "tools_core", "serve"]


@pytest.fixture(scope="module")
def inspect(npm, environ, tmp_path_factory):
    node, modules = npm(RELEASE)
    launcher = modules / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
    place = tmp_path_factory.mktemp("place")

    def inspect(*words, method="tools/list"):
        command = [node, launcher, "--cli", "--method", method, *words]
        return subprocess.run(command, cwd=place, env=environ, capture_output=True, text=True, check=False, timeout=120)

    return inspect


@pytest.fixture(scope="module")
def url(served):
    with served([*SERVE, "--http", "127.0.0.1:0", "--no-token"]) as url:
        yield url


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_inspector_accepts_the_shipped_tools(transport, inspect, url):
    server = ["--", *SERVE] if transport == "stdio" else ["--server-url", url, "--transport", "http"]
    completed = inspect("--strict", *server)
    assert (completed.returncode, completed.stderr) == (0, "")
    listed = {tool["name"] for tool in json.loads(completed.stdout)["tools"]}
    ours = [entry.name for entry in entry_points(group="ask_tools.tools") if entry.dist.name.startswith("tools-")]
    assert len(ours) >= 17
    assert set(ours) <= listed


def test_the_inspector_calls_a_tool(inspect, url):
    words = ["--tool-name", "list_directory", "--tool-arg", "path=.", "--server-url", url, "--transport", "http"]
    completed = inspect(*words, method="tools/call")
    assert completed.returncode == 0, completed.stderr
    result = json.loads(completed.stdout)
    assert not result.get("isError")
    assert "empty" in result["content"][0]["text"]
