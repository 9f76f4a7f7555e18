"""The resources and prompts of a server as two tools, if the address of the server has `resources` or `prompts`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp import MCPError
from mcp_types import CONNECTION_CLOSED, METHOD_NOT_FOUND

from tools_core import Result, ToolError
from tools_core.text import closest
from tools_mcp._client._content import contents_of, joined, part_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from mcp import Client
    from mcp_types import ServerCapabilities

    from tools_mcp._client._address import Address
    from tools_mcp._client._definition import Definition

MAX_PAGES = 100
_READS = {"readOnlyHint": True, "openWorldHint": True}
_URI = {"type": "string", "description": "The URI of the resource to read. Leave it out to list the resources."}
_NAME = {"type": "string", "description": "The name of the prompt to get. Leave it out to list the prompts."}
_ARGUMENTS = {
    "type": "object",
    "description": "The arguments of the prompt, as its line in the list names them.",
    "additionalProperties": {"type": "string"},
}
# Definitions as those of the server: the user accepts them, and rules name them, in the same way.
DEFINITIONS: dict[str, Definition] = {
    "resources": {
        "name": "resources",
        "description": (
            "List the resources of this server, such as files and records, or read one by its URI. In the template of "
            "a URI, replace each {part} by a value."
        ),
        "inputSchema": {"type": "object", "properties": {"uri": _URI}},
        "annotations": _READS,
    },
    "prompts": {
        "name": "prompts",
        "description": "List the prompts that this server has prepared for tasks, or get the text of one by its name.",
        "inputSchema": {"type": "object", "properties": {"name": _NAME, "arguments": _ARGUMENTS}},
        "annotations": _READS,
    },
}


def wanted(address: Address, capabilities: ServerCapabilities) -> dict[str, str]:
    """Return the names of the tools that the address asks for, each with the reason why it is missing, or empty."""
    return {
        name: "" if getattr(capabilities, name) is not None else f"the server has no {name}"
        for name in DEFINITIONS
        if address.get(name)
    }


async def pages(ask: Callable[..., Awaitable[Any]], things: str) -> AsyncIterator[Any]:
    """Yield the pages of a list; ValueError for a list without an end.

    A cursor that comes again ends a list. An empty one is valid since 2026-07-28, but older servers may refuse it.
    """
    cursor, cursors = None, set[str | None]((None,))
    for _ in range(MAX_PAGES):
        try:
            page = await ask(cursor=cursor)
        except MCPError as error:
            if cursor != "" or error.code == CONNECTION_CLOSED:
                raise
            return
        yield page
        cursor = page.next_cursor
        if cursor in cursors:
            return
        cursors.add(cursor)
    raise ValueError(f"the list of {things} has no end")


async def answer(client: Client, name: str, arguments: dict[str, Any]) -> Result:
    """Answer a call of one of the tools."""
    if name == "prompts":
        return await (_prompt(client, arguments) if arguments.get("name") else _prompts(client))
    return await (_read(client, arguments["uri"]) if arguments.get("uri") else _resources(client))


async def _resources(client: Client) -> Result:
    resources = [item async for page in pages(client.list_resources, "resources") for item in page.resources]
    templates: list[Any] = []
    try:
        async for page in pages(client.list_resource_templates, "templates"):
            templates += page.resource_templates
    except MCPError as error:  # few servers have templates
        if error.code != METHOD_NOT_FOUND:
            raise
    lines = [_line(str(item.uri), item) for item in resources]
    lines += [_line(f"{item.uri_template} (a template)", item) for item in templates]
    records = [item.model_dump(by_alias=True, mode="json", exclude_none=True) for item in (*resources, *templates)]
    return Result.ok(records, content="\n".join(lines) or "The server has no resources.")


async def _read(client: Client, uri: str) -> Result:
    contents = (await client.read_resource(uri)).contents
    return Result.ok(joined([contents_of(item) for item in contents]) or f"{uri} is empty")


async def _prompts(client: Client) -> Result:
    prompts = [item async for page in pages(client.list_prompts, "prompts") for item in page.prompts]
    records = [item.model_dump(by_alias=True, mode="json", exclude_none=True) for item in prompts]
    lines = [_line(f"{item.name}({', '.join(map(_parameter, item.arguments or ()))})", item) for item in prompts]
    return Result.ok(records, content="\n".join(lines) or "The server has no prompts.")


async def _prompt(client: Client, arguments: dict[str, Any]) -> Result:
    try:
        messages = (await client.get_prompt(arguments["name"], arguments.get("arguments"))).messages
    except MCPError as error:
        names = [item.name async for page in pages(client.list_prompts, "prompts") for item in page.prompts]
        if arguments["name"] in names:
            raise
        hint = f"did you mean {' or '.join(closest(arguments['name'], names) or names) or 'none'}?"
        raise ToolError(f"there is no prompt {arguments['name']}; {hint}") from error
    parts: list[Any] = []
    for message in messages:
        part = part_of(message.content)
        is_plain = len(messages) == 1 and message.role == "user"
        parts += [part] if is_plain else [f"{message.role}: {part}"] if isinstance(part, str) else [part]
    return Result.ok(joined(parts))


def _line(head: str, item: Any) -> str:
    about = [getattr(item, "title", None) or (item.name if item.name not in head else None)]
    about += [getattr(item, "mime_type", None)]
    names = f" [{', '.join(filter(None, about))}]" if any(about) else ""
    return f"{head}{names}{': ' if item.description else ''}{' '.join((item.description or '').split())}"


def _parameter(argument: Any) -> str:
    return f"{argument.name}{'' if argument.required else '?'}"
