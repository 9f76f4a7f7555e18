"""References inside one schema document: `#`, `#/$defs/name`."""

from __future__ import annotations

import re
from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any] | bool

_PLAIN = frozenset(("type", "enum", "const", "properties", "items"))


def resolve(root: Schema, reference: str) -> Schema:
    """Return the subschema that a local `$ref` points to; LookupError for a broken reference."""
    target: Any = root
    for key in reference_keys(root, reference):
        if isinstance(target, dict):
            target = target[key]
        elif isinstance(target, list) and key.isdecimal() and key.isascii():
            target = target[int(key)]
        else:
            raise LookupError(reference)
    if isinstance(target, dict | bool):
        return target
    raise LookupError(reference)


def reference_keys(root: Schema, reference: str) -> list[str]:
    """Return the unescaped keys of a local `$ref`; LookupError for any other reference."""
    base, _, pointer = reference.partition("#")
    identifier = root.get("$id", "").rstrip("#") if isinstance(root, dict) else ""
    if base not in ("", identifier) or (pointer and not pointer.startswith("/")):
        raise LookupError(reference)
    # Like urllib.parse.unquote, without its import in every program that defines a tool.
    pointer = re.sub("(?:%[0-9a-fA-F]{2})+", lambda match: bytes.fromhex(match[0].replace("%", "")).decode(), pointer)
    return [key.replace("~1", "/").replace("~0", "~") for key in pointer.split("/")[1:]]


def flatten(schema: Any, root: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the plain schemas behind `schema`, for code that reads types, choices and members.

    `$ref`, `anyOf`, `oneOf` and `allOf` are followed; a reference that cannot be resolved counts as any value.
    """
    return _flatten(schema, root, [])


def _flatten(schema: Any, root: dict[str, Any], visited: list[Any]) -> list[dict[str, Any]]:
    if not isinstance(schema, dict) or any(schema is ancestor for ancestor in visited):
        return []
    visited.append(schema)
    parts = [part for keyword in ("anyOf", "oneOf", "allOf") for part in schema.get(keyword, ())]
    if "$ref" in schema:
        try:
            parts.append(resolve(root, schema["$ref"]))
        except LookupError:  # this document was never compiled
            parts.append({})
    schemas = [plain for part in parts for plain in _flatten(part, root, visited)]
    return schemas if parts and _PLAIN.isdisjoint(schema) else [*schemas, schema]
