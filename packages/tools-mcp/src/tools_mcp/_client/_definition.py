"""Definitions of a server's tools as JSON: their names here, their hash, and how two of them differ."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeAlias

from tools_core._definition._naming import NAME_PATTERN

if TYPE_CHECKING:
    from collections.abc import Iterable

Definition: TypeAlias = dict[str, Any]  # a `Tool` of the protocol, with the parts that a model or a policy reads

PARTS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")


def tool_names(remote: Iterable[str], prefix: str = "") -> dict[str, str]:
    """Return a legal name for each name that the server uses; those that are legal stay as they are."""
    wanted = {name: prefix + name for name in remote}
    if all(re.fullmatch(NAME_PATTERN, full) for full in wanted.values()):
        return wanted
    from tools_core.formats import legal_names  # only for unusual names

    safe = {name: full if re.match("[A-Za-z_]", full) else f"_{full}" for name, full in wanted.items()}
    legal = legal_names(safe.values(), "openai")
    return {name: legal[full] for name, full in safe.items()}


def digest(definition: Definition) -> str:
    """Return the SHA-256 of a definition, from canonical JSON."""
    return sha256(json.dumps(definition, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def changed_parts(pinned: Definition, listed: Definition) -> list[str]:
    """Return the parts that differ."""
    return [part for part in PARTS if pinned.get(part) != listed.get(part)]


def differences(pinned: dict[str, Definition], listed: dict[str, Definition]) -> list[str]:
    """Return a line for each tool that is new, missing or changed, and below it the lines of what has changed."""
    found: list[str] = []
    for name in sorted(pinned.keys() | listed.keys()):
        if name not in listed:
            found.append(f"- {name}")
        elif name not in pinned:
            found += [f"+ {name}", *(f"    + {line}" for line in _lines(listed[name]))]
        elif parts := changed_parts(pinned[name], listed[name]):
            from difflib import ndiff  # only for what has changed

            changes = ndiff(_lines(pinned[name]), _lines(listed[name]))
            found += [f"! {name}: {', '.join(parts)}", *(f"    {line}" for line in changes if line[:1] in "+-")]
    return found


def _lines(definition: Definition) -> list[str]:
    """Return the description, and a line for each parameter and each other part."""
    schema = definition["inputSchema"]
    parameters = schema["properties"] if isinstance(schema.get("properties"), dict) else {}
    rest = {key: value for key, value in schema.items() if key != "type" and value is not parameters}
    parts = [(part, definition.get(part)) for part in ("title", "annotations", "outputSchema")]
    found = [*parameters.items(), *((part, value) for part, value in (*parts, ("inputSchema", rest)) if value)]
    lines = [f"{name}: {json.dumps(value, sort_keys=True, ensure_ascii=False)}" for name, value in found]
    return [*str(definition.get("description", "")).splitlines(), *lines]
