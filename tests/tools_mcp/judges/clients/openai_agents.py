"""The MCP servers of the OpenAI Agents SDK."""

import asyncio
import json
import sys

from agents.mcp import MCPServerStdio, MCPServerStreamableHttp


async def main(server):
    async with server:
        listed = await server.list_tools()
        added = await server.call_tool("add_numbers", {"a": 2, "b": 3})
        failed = await server.call_tool("test_error_handling", {})
        image = (await server.call_tool("test_image_content", {})).model_dump(by_alias=True)["content"][0]
        return {
            "tools": [tool.name for tool in listed],
            "sum": added.model_dump(by_alias=True)["structuredContent"],
            "error": failed.model_dump(by_alias=True)["isError"] and failed.content[0].text,
            "image": [image["type"], image["mimeType"], len(image["data"])],
        }


place, *words = json.loads(sys.argv[1])
if place.startswith("http"):
    server = MCPServerStreamableHttp({"url": place})
else:
    server = MCPServerStdio({"command": place, "args": words}, client_session_timeout_seconds=60)
print(json.dumps(asyncio.run(main(server))))
