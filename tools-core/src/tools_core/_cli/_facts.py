"""What can be said of a loaded tool in a word: its effect, its parameters, its cost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tools_core._cli._terminal import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools_core._tools._tool import Tool

CHARACTERS_PER_TOKEN = 4


def tokens(definition: Mapping[str, Any]) -> int:
    """About how many tokens a definition costs in every request.

    An estimate: the characters of what a model is sent (name, description and input schema, as compact JSON) by 4,
    which holds for English text; each model counts in its own way.
    """
    sent = {key: definition[key] for key in ("name", "description", "input_schema")}
    text = json.dumps(sent, ensure_ascii=False, separators=(",", ":"))
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def effect(annotations: Mapping[str, bool]) -> str:
    """`read-only`, `writes` or `destructive`, or `unknown` of a tool that does not say."""
    if annotations.get("read_only"):
        return "read-only"
    if annotations.get("destructive"):
        return "destructive"
    return "writes" if annotations.keys() & {"read_only", "destructive"} else "unknown"


def signature(schema: Mapping[str, Any]) -> str:
    """The parameters, those that may be left out in brackets: `city [days]`."""
    required = schema.get("required", ())
    names = (one_line(name) for name in schema.get("properties", ()))
    return " ".join(name if name in required else f"[{name}]" for name in names)


def first_line(tool: Tool) -> str:
    """The first line of the description."""
    return tool.description.partition("\n")[0].strip()
