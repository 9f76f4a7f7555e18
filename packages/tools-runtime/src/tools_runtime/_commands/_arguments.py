"""Words of a command line as the arguments of a call: `city=Oslo`, `limits:=[1,2]`, or one JSON object."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_core import Tool


def read_arguments(words: Sequence[str], tool: Tool) -> Any:
    """JSON text as it is, or an object of words; the tool's own repairs make numbers of text."""
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        return words[0]
    made: dict[str, Any] = {}
    properties = tool.definition["input_schema"].get("properties", {})
    for word in words:
        key, equals, text = word.partition("=")
        if not equals or not key.rstrip(":"):
            raise ValueError(f"arguments are key=value, key:=JSON or one JSON object, got {word!r}")
        name = key.removesuffix(":")
        value = _json(key, text) if key.endswith(":") else text
        is_list = "array" in _types(properties.get(name, {})) and not isinstance(value, list)
        if is_list and not (isinstance(value, str) and value.startswith("[")):
            made.setdefault(name, []).append(value)
        elif name in made:
            raise ValueError(f"{name} is given twice; give it once")
        else:
            made[name] = value
    return made


def _types(schema: Any) -> Sequence[str]:
    types = schema.get("type", ())
    return (types,) if isinstance(types, str) else types


def _json(key: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"{key}= takes JSON, got {text!r}: {error}") from error
