"""Schemas without references and combinations, for readers that look at types, choices and members."""

from __future__ import annotations

from typing import Any

from tools_core._jsonschema._pointer import resolve

_OWN = frozenset(("type", "enum", "const", "properties", "items"))


def flatten(schema: Any, root: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the plain schemas that a value may have to fit: `$ref`, `anyOf`, `oneOf` and `allOf` are followed."""
    return _flatten(schema, root, [])


def _flatten(schema: Any, root: dict[str, Any], seen: list[Any]) -> list[dict[str, Any]]:
    if not isinstance(schema, dict) or any(schema is each for each in seen):  # a reference to itself adds nothing
        return []
    seen.append(schema)
    parts = [part for keyword in ("anyOf", "oneOf", "allOf") for part in schema.get(keyword, ())]
    if "$ref" in schema:
        try:
            parts.append(resolve(root, schema["$ref"]))
        except LookupError:  # of a document that was never compiled
            parts.append({})
    found = [plain for part in parts for plain in _flatten(part, root, seen)]
    return found if parts and _OWN.isdisjoint(schema) else [*found, schema]
