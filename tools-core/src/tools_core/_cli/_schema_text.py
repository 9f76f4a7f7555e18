"""Schemas of parameters as text: types, choices and members."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, TypeGuard

from tools_core._cli._output import json_text, one_line
from tools_core._jsonschema._references import flatten

Schema: TypeAlias = dict[str, Any]

_MAX_DEPTH = 3  # levels of objects whose members are listed
_IMPLIED = {"properties": "object", "items": "array"}
_TYPE_NAMES = {
    "str": "string",
    "bool": "boolean",
    "int": "integer",
    "float": "number",
    "NoneType": "null",
    "list": "array",
    "dict": "object",
}


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Return whether `value` is a JSON object; a schema may also be `true` or `false`."""
    return isinstance(value, dict)


def types(*options: Schema) -> set[str]:
    """Return the JSON types of plain schemas, or of their choices; an empty set for any type."""
    names: set[str] = set()
    for option in options:
        declared = option.get("type", [])
        names |= {declared} if isinstance(declared, str) else set(declared)
        if not declared:
            implied = {kind for keyword, kind in _IMPLIED.items() if keyword in option}
            names |= implied or {_TYPE_NAMES[type(value).__name__] for value in _listed_values(option)}
    return names


def choices(schema: Any, root: Schema) -> list[Any]:
    """Return the values that a schema lists by `enum` or `const`, and true and false for a boolean."""
    values: list[Any] = []
    for option in flatten(schema, root):
        values += _listed_values(option) or ([True, False] if "boolean" in types(option) else ())
    return values


def split_key(key: str, schema: Any, root: Schema) -> tuple[str, ...]:
    """Split a dotted key at each object of the schema; a name that contains dots stays whole."""
    head, dot, rest = key.partition(".")
    if not (dot and head and rest) or any(key in option.get("properties", {}) for option in flatten(schema, root)):
        return (key,)
    inner = schema_at((head,), root, schema)
    if inner is None:  # an object with any members; an unknown name at the top is not split
        return (key,) if schema is root else tuple(key.split("."))
    return (head, *split_key(rest, inner, root)) if "object" in types(*flatten(inner, root)) else (key,)


def schema_at(path: Sequence[str], root: Schema, schema: Any = None) -> Any:
    """Return the schema of the member at `path`, below the root unless there is a `schema`; None if there is none."""
    current = root if schema is None else schema
    for name in path:
        options = flatten(current, root)
        members = [option["properties"][name] for option in options if name in option.get("properties", {})]
        others = [option.get("additionalProperties") for option in options]
        current = next(iter([*members, *filter(is_object, others)]), None)
    return current


def type_text(schema: Any, root: Schema, depth: int = 0) -> str:
    """Return a schema as a type hint: `"C" | "F"`, `array of integer`, `string | null`."""
    if depth > _MAX_DEPTH:
        return "…"
    words: list[str] = []
    for option in flatten(schema, root):
        words += [json_text(value, pretty=False) for value in _listed_values(option)]
        for kind in () if _listed_values(option) else sorted(types(option), key=lambda kind: (kind == "null", kind)):
            inner = type_text(option["items"], root, depth + 1) if kind == "array" and "items" in option else ""
            words.append(f"array of {f'({inner})' if ' | ' in inner else inner}" if inner else kind)
    return " | ".join(dict.fromkeys(words)) or "any"


def parameters(schema: Any, root: Schema, prefix: str = "", depth: int = 1) -> Iterator[tuple[str, str, str, str]]:
    """Yield name, type, `required` or default, and description of each parameter; members have dotted names."""
    for option in flatten(schema, root):
        for name, part in option.get("properties", {}).items():
            about = part if is_object(part) else {}
            default = f"default {json_text(about['default'], pretty=False)}" if "default" in about else "optional"
            presence = "required" if name in option.get("required", ()) else default
            yield prefix + one_line(name), type_text(part, root), presence, one_line(about.get("description", ""))
            if depth < _MAX_DEPTH:
                yield from parameters(part, root, f"{prefix}{one_line(name)}.", depth + 1)


def _listed_values(schema: Schema) -> list[Any]:
    return [schema["const"]] if "const" in schema else list(schema.get("enum", ()))
