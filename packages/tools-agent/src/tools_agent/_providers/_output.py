"""Structured output: the schema of a reply in a request, and the JSON in the reply."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tools_core import InvalidArguments
from tools_core.formats import Format, openai_strict

NAME = "reply"
_UNIONS = frozenset(("$ref", "allOf", "anyOf", "oneOf"))


def strict_schema(schema: Mapping[str, Any], wire: Format) -> tuple[dict[str, Any], bool] | None:
    """Return the schema as a strict format writes it, and whether it is strict; None unless it is that of an object."""
    if schema.get("type") != "object" or not _UNIONS.isdisjoint(schema):
        return None
    [tool] = wire.definitions([_definition(schema)])
    tool = tool.get("function", tool)
    return tool.get("parameters") or tool["input_schema"], tool["strict"]


def _definition(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": NAME, "description": "", "input_schema": schema}


def instruction(schema: Mapping[str, Any]) -> str:
    """Return the words for a model whose API takes no schema, or not this one."""
    text = json.dumps(schema, ensure_ascii=False)
    return f"Reply with JSON that fits this JSON Schema, and with nothing else:\n{text}"


def without_absent(text: str, schema: Mapping[str, Any]) -> str:
    """Return a reply's JSON without the nulls that strict mode puts in for absent members; other text unchanged."""
    call = {"function": {"name": NAME, "arguments": text}}
    try:
        arguments = openai_strict.calls([call], [_definition(schema)])[0].arguments
        return text if arguments == json.loads(text) else json.dumps(arguments, ensure_ascii=False)
    except (InvalidArguments, ValueError):
        return text
