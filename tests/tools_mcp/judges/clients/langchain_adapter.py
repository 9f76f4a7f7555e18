"""Tools of LangChain's adapter."""

import asyncio
import json
import sys

from langchain_mcp_adapters.callbacks import Callbacks
from langchain_mcp_adapters.client import MultiServerMCPClient
from mcp.types import ElicitResult


async def approve(context, question, server):
    return ElicitResult(action="accept", content={"scope": "once"})


async def main(server):
    progress = []

    async def on_progress(done, total, message, context):
        progress.append(done)

    client = MultiServerMCPClient(
        {"judged": server}, callbacks=Callbacks(on_progress=on_progress, on_elicitation=approve)
    )
    tools = {tool.name: tool for tool in await client.get_tools()}

    async def call(name, arguments):
        return await tools[name].ainvoke({"type": "tool_call", "id": "1", "name": name, "args": arguments})

    added = await call("add_numbers", {"a": 2, "b": 3})
    failed = await call("test_error_handling", {})
    [image] = (await call("test_image_content", {})).content
    approved = await call("test_elicitation", {"message": "yes"})
    await call("test_tool_with_progress", {})
    return {
        "tools": list(tools),
        "sum": added.artifact["structured_content"],
        "error": failed.status == "error" and json.dumps(failed.content),
        "image": [image["type"], image["mime_type"], len(image["base64"])],
        "progress": progress,
        "approved": approved.content[0]["text"],
    }


place, *words = json.loads(sys.argv[1])
if place.startswith("http"):
    server = {"transport": "streamable_http", "url": place}
else:
    server = {"transport": "stdio", "command": place, "args": words}
print(json.dumps(asyncio.run(main(server))))
