"""Schemas of parameters as text: types, choices and members."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from tools_core._cli._output import json_text, one_line
from tools_core._jsonschema._types import accepted_types, choices_of, flatten

Schema: TypeAlias = dict[str, Any]

_MAX_DEPTH = 3  # levels of objects whose members are listed


def choices(schema: Any, root: Schema) -> list[Any]:
    """Return the values that a schema lists by `enum` or `const`, and true and false for a boolean."""
    values: list[Any] = []
    for option in flatten(schema, root):
        values += choices_of(option) or ([True, False] if "boolean" in accepted_types(option, root) else ())
    return values


def split_key(key: str, schema: Any, root: Schema) -> tuple[str, ...]:
    """Split a dotted key at each object of the schema; a name that contains dots stays whole."""
    head, dot, rest = key.partition(".")
    if not (dot and head and rest) or any(key in option.get("properties", {}) for option in flatten(schema, root)):
        return (key,)
    inner = schema_at((head,), root, schema)
    if inner is None:  # an object with any members; an unknown name at the top is not split
        return (key,) if schema is root else tuple(key.split("."))
    return (head, *split_key(rest, inner, root)) if "object" in accepted_types(inner, root) else (key,)


def schema_at(path: Sequence[str], root: Schema, schema: Any = None) -> Any:
    """Return the schema of the member at `path` below `schema`, by default the root; None for an unknown member."""
    current = root if schema is None else schema
    for name in path:
        options = flatten(current, root)
        members = [option["properties"][name] for option in options if name in option.get("properties", {})]
        others = [option.get("additionalProperties") for option in options]
        current = next(iter([*members, *(schema for schema in others if isinstance(schema, dict))]), None)
    return current


def type_text(schema: Any, root: Schema, depth: int = 0) -> str:
    """Return a schema as a type hint: `"C" | "F"`, `array of integer`, `string | null`."""
    if depth > _MAX_DEPTH:
        return "…"
    words: list[str] = []
    for option in flatten(schema, root):
        words += [json_text(value, pretty=False) for value in choices_of(option)]
        types = [] if choices_of(option) else accepted_types(option, root)
        for name in sorted(types, key=lambda name: (name == "null", name)):
            inner = type_text(option["items"], root, depth + 1) if name == "array" and "items" in option else ""
            words.append(f"array of {f'({inner})' if ' | ' in inner else inner}" if inner else name)
    return " | ".join(dict.fromkeys(words)) or "any"


def parameters(schema: Any, root: Schema, prefix: str = "", depth: int = 1) -> Iterator[tuple[str, str, str, str]]:
    """Yield name, type, `required` or default, and description of each parameter; members have dotted names."""
    for option in flatten(schema, root):
        for name, part in option.get("properties", {}).items():
            keywords = part if isinstance(part, dict) else {}
            default = f"default {json_text(keywords['default'], pretty=False)}" if "default" in keywords else "optional"
            presence = "required" if name in option.get("required", ()) else default
            path, description = prefix + one_line(name), one_line(keywords.get("description", ""))
            yield path, type_text(part, root), presence, description
            if depth < _MAX_DEPTH:
                yield from parameters(part, root, f"{path}.", depth + 1)
