"""An agent of pydantic-ai whose model follows a script."""

import asyncio
import base64
import json
import sys

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import BinaryContent, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

CALLS = [
    ToolCallPart("add_numbers", {"a": 2, "b": 3}),
    ToolCallPart("test_error_handling", {}),
    ToolCallPart("test_image_content", {}),
    ToolCallPart("test_tool_with_progress", {}),
]


async def main(server):
    listed = []

    def model(messages, info):
        if listed:
            return ModelResponse([TextPart("done")])
        listed.extend(tool.name for tool in info.function_tools)
        return ModelResponse(CALLS)

    async with Agent(FunctionModel(model), toolsets=[MCPToolset(server, init_timeout=60)]) as agent:
        result = await agent.run("call them")
    parts = [part for message in result.all_messages() for part in message.parts]
    answers = {part.tool_name: part for part in parts if isinstance(part, ToolReturnPart)}
    failed, image = answers["test_error_handling"], answers["test_image_content"].content
    assert isinstance(image, BinaryContent)
    return {
        "tools": listed,
        "sum": answers["add_numbers"].content,
        "error": failed.outcome == "retried" and failed.content,
        "image": ["image", image.media_type, len(base64.b64encode(image.data))],
    }


place, *words = json.loads(sys.argv[1])
server = place if place.startswith("http") else StdioTransport(command=place, args=words)
print(json.dumps(asyncio.run(main(server))))
