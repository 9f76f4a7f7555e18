"""Defaults, as a schema can show them."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tools_core._definition._hints._reading import Schema


def with_default(schema: Schema, default: Any) -> Schema:
    """Show a default that is plain JSON and that the schema allows; any other is only left to hold."""
    shown = plain(default)
    if shown is ... or (shown is None and not _allows_null(schema)):
        return schema
    return {**schema, "default": shown}


def plain(value: Any) -> Any:
    """Copy a value that is plain JSON, an Enum member as its value, a path as text; `...` for anything else."""
    if isinstance(value, Enum):
        return plain(value.value)
    kind: type[Any] = type(value)
    if value is None or kind in (str, int, bool):
        return value
    if kind is float:
        return value if value - value == 0.0 else ...  # NaN and the infinities are no JSON
    if kind in (list, tuple):
        items = [plain(item) for item in value]
        return ... if any(item is ... for item in items) else items
    if kind is dict:
        members = {name: plain(item) for name, item in value.items()}
        is_json = all(type(name) is str and item is not ... for name, item in members.items())
        return members if is_json else ...
    if hasattr(kind, "__fspath__"):
        path = value.__fspath__()
        return path if type(path) is str else ...
    return ...


def _allows_null(schema: Schema) -> bool:
    """Return whether None fits: `x: int = None` is common, and null no integer."""
    if "anyOf" in schema:
        return any(_allows_null(one) for one in schema["anyOf"])
    if "enum" in schema:
        return None in schema["enum"]
    return "$ref" not in schema and "null" in schema.get("type", "null")
