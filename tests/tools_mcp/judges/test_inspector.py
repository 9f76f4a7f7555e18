"""The command of MCP Inspector, which lists tools as a client and judges whether models and providers take them."""

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
    with served([*SERVE, "--http", "127.0.0.1:0"]) as url:
        yield url


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_inspector_accepts_the_shipped_tools(transport, inspect, url):
    server = ["--", *SERVE] if transport == "stdio" else ["--server-url", url, "--transport", "http"]
    ended = inspect("--strict", *server)
    assert (ended.returncode, ended.stderr) == (0, "")
    listed = {tool["name"] for tool in json.loads(ended.stdout)["tools"]}
    ours = [each.name for each in entry_points(group="ask_tools.tools") if each.dist.name.startswith("tools-")]
    assert len(ours) >= 18
    assert set(ours) <= listed


def test_the_inspector_calls_a_tool(inspect, url):
    words = ["--tool-name", "list_directory", "--tool-arg", "path=.", "--server-url", url, "--transport", "http"]
    ended = inspect(*words, method="tools/call")
    assert ended.returncode == 0, ended.stderr
    result = json.loads(ended.stdout)
    assert not result.get("isError")
    assert "empty" in result["content"][0]["text"]
