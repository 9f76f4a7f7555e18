"""Inspect (inspect-ai): our tools in its tasks. Needs the extra `inspect`."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from inspect_ai.model import ContentImage, ContentText
from inspect_ai.tool import ToolDef, ToolError, ToolParams

from tools_core import Approve, Image, Registry, Result, ToolCall, Tools
from tools_core.formats import openai
from tools_core.schema import resolve


def to_inspect(tools: Tools, *, approve: Approve = None) -> list[Any]:
    """Return tools for Inspect's `use_tools(...)` and agents; a failure is a `ToolError` that the model reads.

    A tool that requires approval runs if `approve` is "all" or a function that answers. Inspect's own approval policies
    apply as well, before a call.
    """
    registry = Registry(tools)
    return [_tool(definition, registry, approve) for definition in registry.definitions()]


def _tool(definition: dict[str, Any], registry: Registry, approve: Approve) -> Any:
    function = openai.definitions([definition])[0]["function"]
    schema = _inlined(function["parameters"], function["parameters"], 0)

    async def execute(**arguments: Any) -> Any:
        result = await registry.acall(ToolCall(None, definition["name"], arguments), approve=approve)
        if result.error is not None:
            raise ToolError(result.error)
        return _content(result)

    fields = {key: schema[key] for key in ("properties", "required", "additionalProperties") if key in schema}
    fields["properties"] = {
        name: member if isinstance(member, dict) else {} for name, member in fields.get("properties", {}).items()
    }
    for name, member in fields["properties"].items():
        member.setdefault("description", name.replace("_", " "))  # Inspect requires a description
    parameters = ToolParams.model_validate(fields)
    return ToolDef(execute, function["name"], function["description"], parameters).as_tool()


def _inlined(schema: Any, root: dict[str, Any], depth: int) -> Any:
    """Return a schema without references, which Inspect does not have; a recursive one ends after some levels."""
    if isinstance(schema, list):
        return [_inlined(item, root, depth) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    rest = {key: value for key, value in schema.items() if key not in ("$ref", "$defs")}
    if "$ref" in schema and depth < 5:
        target: Any = resolve(root, schema["$ref"])
        rest = {**(target if isinstance(target, Mapping) else {}), **rest}
        depth += 1
    return {key: _inlined(value, root, depth) for key, value in rest.items()}


def _content(result: Result) -> Any:
    """Return text, or a list with pictures."""
    parts = result.content
    if isinstance(parts, str) or not any(isinstance(part, Image) for part in parts):
        return str(result)
    return [
        ContentImage(image=f"data:{part.mime_type};base64,{b64encode(part.data).decode()}")
        if isinstance(part, Image)
        else ContentText(text=str(part))
        for part in parts
    ]
