"""Facts about a schema that need no value: the Python types that it accepts, and its tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_core._jsonschema._keywords import PYTHON_TYPES, types_of
from tools_core._jsonschema._pointer import resolve

if TYPE_CHECKING:
    from tools_core._jsonschema._pointer import Schema

_ALL: frozenset[type] = frozenset(kind for kinds in PYTHON_TYPES.values() for kind in kinds)
_NUMBERS = frozenset((int, float))  # 2.0 is an integer, 2 is a number
_DEPTH_LIMIT = 8


def kinds(schema: Schema, root: Schema, depth: int = 0) -> frozenset[type]:
    """Return the Python types that `schema` may take; perhaps more than it does, never fewer."""
    if isinstance(schema, bool):
        return _ALL if schema else frozenset()
    out = _ALL
    if "type" in schema:
        out &= _widened(kind for name in types_of(schema) for kind in PYTHON_TYPES[name])
    if "const" in schema:
        out &= _widened([type(schema["const"])])
    if "enum" in schema:
        out &= _widened(map(type, schema["enum"]))
    if depth < _DEPTH_LIMIT:
        if "$ref" in schema:
            out &= kinds(resolve(root, schema["$ref"]), root, depth + 1)
        for part in schema.get("allOf", ()):
            out &= kinds(part, root, depth + 1)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                out &= frozenset().union(*(kinds(part, root, depth + 1) for part in schema[keyword]))
    return out


def _widened(found: Any) -> frozenset[type]:
    out = frozenset(found)
    return out | _NUMBERS if out & _NUMBERS else out


def tags(schema: Schema, root: Schema, depth: int = 0) -> dict[str, list[Any]]:
    """Return the required members whose value is fixed: they tell one alternative from another."""
    if isinstance(schema, bool) or depth > _DEPTH_LIMIT:
        return {}
    out = tags(resolve(root, schema["$ref"]), root, depth + 1) if "$ref" in schema else {}
    for key, part in schema.get("properties", {}).items():
        if isinstance(part, dict) and key in schema.get("required", ()):
            if "const" in part:
                out[key] = [part["const"]]
            elif "enum" in part:
                out[key] = part["enum"]
    return out
