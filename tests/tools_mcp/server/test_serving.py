"""`ask-tools serve` and `Server`, with the clients of the SDK."""

import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tools_core import tool
from tools_mcp import Server

ASK_TOOLS = str(Path(sys.executable).with_name("ask-tools"))


@tool(read_only=True)
def add(a: int, b: int) -> dict[str, int]:
    """Add two numbers."""
    return {"sum": a + b}


@pytest.fixture(params=["2026-07-28", "legacy"])
def mode(request):
    return request.param


def test_tools_are_listed_and_called(mode):
    async def main():
        async with Client(Server([add]).lowlevel, mode=mode) as client:
            [listed] = (await client.list_tools()).tools
            answer = await client.call_tool("add", {"a": 1, "b": 2})
        assert (listed.name, listed.annotations.read_only_hint) == ("add", True)
        assert (answer.structured_content, answer.content[0].text) == ({"sum": 3}, '{"sum":3}')

    anyio.run(main)


@pytest.mark.slow
def test_the_command_serves_installed_tools_over_standard_input_and_output(mode, tmp_path):
    (tmp_path / "note.txt").write_text("hello")
    program = StdioServerParameters(command=ASK_TOOLS, args=["serve", "--tools", "read_*"], cwd=tmp_path)

    async def main():
        async with Client(stdio_client(program), mode=mode) as client:
            names = [each.name for each in (await client.list_tools()).tools]
            answer = await client.call_tool("read_file", {"path": "note.txt"})
        assert names == ["read_file"]
        assert "hello" in answer.content[0].text

    anyio.run(main)
