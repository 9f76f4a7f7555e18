"""Claude's Agent SDK: an MCP server inside the process, and tools of the SDK as ours."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Unpack

from claude_agent_sdk import McpSdkServerConfig, create_sdk_mcp_server
from mcp import Client
from mcp.server import Server
from mcp.types import CallToolResult, ListToolsResult, ToolAnnotations
from mcp.types import Tool as Definition

from tools_adapters._bridge import BridgedTool, Options, block_of, bridge, content_of, foreign_tool
from tools_core import Context, Result, Tool, Tools
from tools_core.threads import run_coroutine


def to_claude_agent_sdk(tools: Tools, *, name: str = "tools", **options: Unpack[Options]) -> McpSdkServerConfig:
    """Return a server for `ClaudeAgentOptions(mcp_servers={"tools": ...})`; see `Options` for the other options.

    Claude Code calls a tool as `mcp__tools__NAME` and asks for permission by its own rules: list the name in
    `allowed_tools`, or answer in `can_use_tool`. That does not approve a call: a tool that requires approval needs
    `approve=` or an executor. The model reads text, pictures and audio; the run of a call is a conversion, so convert
    the tools for every client.
    """
    bridged = {tool.name: tool for tool in bridge(tools, **options)}

    async def list_tools(context: Any, params: Any) -> ListToolsResult:  # noqa: ARG001  (the signature of MCP)
        return ListToolsResult(tools=[_definition(tool) for tool in bridged.values()])

    async def call_tool(context: Any, params: Any) -> CallToolResult:
        if params.name not in bridged:
            return _output(Result.error(f"unknown tool {params.name}", type="unknown_tool"))
        result = await bridged[params.name].acall(params.arguments or {}, call_id=str(context.request_id))
        return _output(result)

    server = Server(name, on_list_tools=list_tools, on_call_tool=call_tool)
    return McpSdkServerConfig(type="sdk", name=name, instance=server)


def from_claude_agent_sdk(tools: Iterable[Any]) -> list[Tool]:
    """Return tools that call functions with the SDK's `@tool`; its schemas, validation and error results hold."""
    tools = list(tools)
    server = create_sdk_mcp_server("tools", tools=tools)["instance"]
    definitions = run_coroutine(_definitions(server))
    return [
        foreign_tool(partial(_call_theirs, server, tool.name), tool.name, tool.description, tool.input_schema)
        for tool in definitions
    ]


def _definition(bridged: BridgedTool) -> Definition:
    annotations = ToolAnnotations.model_validate(bridged.definition.get("annotations") or {})
    return Definition(
        name=bridged.name, description=bridged.description, input_schema=bridged.schema, annotations=annotations
    )


def _output(result: Result) -> CallToolResult:
    content = content_of(result, _block, "image", "audio")
    blocks = [_block(content)] if isinstance(content, str) else content
    return CallToolResult.model_validate({"content": blocks, "isError": not result.ok})


def _block(part: Any) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": part.kind, "data": part.to_dict()["data"], "mimeType": part.mime_type}


async def _definitions(server: Any) -> list[Definition]:
    async with Client(server) as client:
        return list((await client.list_tools()).tools)


async def _call_theirs(server: Any, name: str, arguments: dict[str, Any], context: Context) -> Result:  # noqa: ARG001  (the signature of the bridge)
    async with Client(server) as client:
        answer: Any = await client.call_tool(name, arguments)
    parts = [part.text if part.type == "text" else _own(part) for part in answer.content]
    content: Any = "\n".join(parts) if all(isinstance(part, str) for part in parts) else parts
    return Result.error(content) if answer.is_error else Result.ok(content)


def _own(part: Any) -> Any:
    return block_of(part.data, part.mime_type) if part.type in ("image", "audio") else part.model_dump_json()
