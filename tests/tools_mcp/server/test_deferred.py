"""`Server(deferred=True)`: clients find tools by search instead of reading all definitions."""

import sys

import anyio
import httpx2
from mcp import Client

from tools_core import tool
from tools_mcp import Server


@tool(read_only=True)
def get_forecast(city: str) -> str:
    """Return the weather of the next days."""
    return f"{city}: sunny"


@tool(read_only=True)
def send_mail(to: str) -> str:
    """Send an e-mail."""
    return f"sent to {to}"


def with_client(use, mode, **options):
    async def main():
        server = Server([get_forecast, send_mail], deferred=True)
        async with Client(server.lowlevel, mode=mode, **options) as client:
            return await use(client)

    return anyio.run(main)


async def names(client):
    return [item.name for item in (await client.list_tools()).tools]


def test_a_client_lists_the_matches_of_its_searches(mode):
    changed = anyio.Event()

    async def note(message):
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            changed.set()

    async def use(client):
        before = await names(client)
        if mode == "legacy":
            result = await client.call_tool("search_tools", {"query": "weather"})
            await changed.wait()
        else:
            async with client.listen(tools_list_changed=True) as events:
                result = await client.call_tool("search_tools", {"query": "weather"})
                await anext(events)
        return (
            before,
            result.content[0].text,
            await names(client),
            await client.call_tool("get_forecast", {"city": "Oslo"}),
        )

    before, text, after, forecast = with_client(use, mode, message_handler=note)
    assert (before, after) == (["search_tools"], ["get_forecast", "search_tools"])
    assert text == "get_forecast: Return the weather of the next days."
    assert forecast.content[0].text == "Oslo: sunny"


def test_the_search_names_the_packages_of_the_tools(mode):
    [search] = with_client(lambda client: client.list_tools(), mode).tools
    assert "(2 tools): get_forecast, send_mail" in search.description
    assert list(search.input_schema["properties"]) == ["query", "limit"]


def test_a_deferred_tool_can_be_called_before_a_search(mode):
    result = with_client(lambda client: client.call_tool("send_mail", {"to": "Ada"}), mode)
    assert result.content[0].text == "sent to Ada"


def test_a_client_without_a_session_receives_the_definitions(tmp_path, serving, envelope):
    command = [sys.executable, "-m", "tools_core", "serve", "--http", "0", "--deferred", "--no-token"]
    with serving(tmp_path, command) as (_, port):

        def send(method, **params):
            headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28"}
            headers |= {"Mcp-Method": method, **({"Mcp-Name": params["name"]} if "name" in params else {})}
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": envelope}}
            return httpx2.post(f"http://127.0.0.1:{port}/mcp", headers=headers, json=body, timeout=60).json()["result"]

        result = send("tools/call", name="search_tools", arguments={"query": "read a file", "limit": 1})
        assert [item["name"] for item in result["structuredContent"]["tools"]] == ["read_file"]
        assert [item["name"] for item in send("tools/list")["tools"]] == ["search_tools"]
