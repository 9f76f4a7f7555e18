"""Structured output: the schema of a reply in a request, and the value in the reply."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tools_core import InvalidArguments
from tools_core.formats import openai_strict

NAME = "reply"


def definition_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema as a tool's definition, for formats to make it strict."""
    return {"name": NAME, "description": "", "input_schema": schema}


def instruction(schema: Mapping[str, Any]) -> str:
    """Return the words for a model whose API takes no schema."""
    text = json.dumps(schema, ensure_ascii=False)
    return f"Reply with one JSON object that fits this JSON Schema, and with nothing else:\n{text}"


def value_of(text: str, schema: Mapping[str, Any]) -> Any:
    """Return the JSON object in a reply without the nulls that strict mode put in for absent members, else None."""
    text = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```")
    call = {"function": {"name": NAME, "arguments": text}}
    try:
        return openai_strict.calls([call], [definition_of(schema)])[0].arguments
    except InvalidArguments:
        return None
