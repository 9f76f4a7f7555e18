"""The client of the MCP SDK, in the era that the server offers first, or with `--legacy` in the one before."""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters
from mcp_types import ElicitResult


async def approve(context, question):
    return ElicitResult(action="accept", content={"scope": "once"})


async def main(server, mode):
    async with Client(server, mode=mode, elicitation_callback=approve) as client:
        progress = []

        async def on_progress(done, total, message):
            progress.append(done)

        listed = (await client.list_tools()).tools
        added = await client.call_tool("add_numbers", {"a": 2, "b": 3})
        failed = await client.call_tool("test_error_handling", {})
        image = (await client.call_tool("test_image_content", {})).content[0]
        approved = await client.call_tool("test_elicitation", {"message": "yes"})
        await client.call_tool("test_tool_with_progress", {}, progress_callback=on_progress)
        return {
            "tools": [tool.name for tool in listed],
            "sum": added.structured_content,
            "error": failed.is_error and failed.content[0].text,
            "image": [image.type, image.mime_type, len(image.data)],
            "progress": progress,
            "approved": approved.content[0].text,
            "protocol": client.protocol_version,
        }


place, *words = json.loads(sys.argv[1])
server = place if place.startswith("http") else StdioServerParameters(command=place, args=words)
print(json.dumps(asyncio.run(main(server, "legacy" if "--legacy" in sys.argv else "auto"))))
