"""The client of FastMCP."""

import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport


async def approve(message, response_type, params, context):
    return {"scope": "once"}


async def main(server):
    progress = []

    async def on_progress(done, total, message):
        progress.append(done)

    async with Client(server, progress_handler=on_progress, elicitation_handler=approve) as client:
        listed = await client.list_tools()
        added = await client.call_tool("add_numbers", {"a": 2, "b": 3})
        failed = await client.call_tool("test_error_handling", {}, raise_on_error=False)
        image = (await client.call_tool("test_image_content", {})).content[0]
        approved = await client.call_tool("test_elicitation", {"message": "yes"})
        await client.call_tool("test_tool_with_progress", {})
        return {
            "tools": [tool.name for tool in listed],
            "sum": added.structured_content,
            "error": failed.is_error and failed.content[0].text,
            "image": [image.type, image.mime_type, len(image.data)],
            "progress": progress,
            "approved": approved.content[0].text,
        }


place, *words = json.loads(sys.argv[1])
server = place if place.startswith("http") else StdioTransport(command=place, args=words)
print(json.dumps(asyncio.run(main(server))))
