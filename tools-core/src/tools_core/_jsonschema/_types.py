"""Read schemas: their references, and the types and values that they accept."""

from __future__ import annotations

import re
from collections.abc import Iterable
from types import NoneType
from typing import Any, NamedTuple, TypeAlias

Schema: TypeAlias = dict[str, Any] | bool


class JsonType(NamedTuple):
    """A type of JSON Schema: the classes of its values, and its name in messages."""

    classes: tuple[type, ...]
    noun: str


JSON_TYPES: dict[str, JsonType] = {
    "string": JsonType((str,), "a string"),
    "integer": JsonType((int,), "an integer"),
    "number": JsonType((float, int), "a number"),
    "boolean": JsonType((bool,), "true or false"),
    "object": JsonType((dict,), "an object"),
    "array": JsonType((list,), "an array"),
    "null": JsonType((NoneType,), "null"),
}
# The JSON type of a Python class; float is a number, int an integer.
TYPE_NAMES: dict[type, str] = {kind.classes[0]: name for name, kind in JSON_TYPES.items()}

_ALL = frozenset(TYPE_NAMES)
_NUMBERS = frozenset((int, float))  # 2.0 is an integer, 2 is a number
_PLAIN = frozenset(("type", "enum", "const", "properties", "items"))
_IMPLIED = {"properties": "object", "items": "array"}
_MAX_DEPTH = 8


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
        parts.append(_target(root, schema["$ref"]))
    schemas = [plain for part in parts for plain in _flatten(part, root, visited)]
    return schemas if parts and _PLAIN.isdisjoint(schema) else [*schemas, schema]


def _target(root: Schema, reference: str) -> Schema:
    try:
        return resolve(root, reference)
    except LookupError:  # this document was never compiled
        return {}


def types_of(schema: dict[str, Any]) -> tuple[str, ...]:
    """Return the JSON types that the keyword `type` lists; none if it is absent."""
    types = schema.get("type", ())
    return (types,) if isinstance(types, str) else tuple(types)


def accepted_types(schema: Any, root: dict[str, Any]) -> list[str]:
    """Return the JSON types that `schema` is written for, in its order; none if it does not restrict them."""
    types: list[str] = []
    for plain in flatten(schema, root):
        types += types_of(plain) or (
            [name for keyword, name in _IMPLIED.items() if keyword in plain]
            or [TYPE_NAMES[type(value)] for value in choices_of(plain)]
        )
    return list(dict.fromkeys(types))


def choices_of(schema: dict[str, Any]) -> list[Any]:
    """Return the values that `const` or `enum` lists."""
    return [schema["const"]] if "const" in schema else list(schema.get("enum", ()))


def accepts_null(schema: Schema, root: Schema) -> bool:
    """Return whether `schema` allows null."""
    return NoneType in accepted_classes(schema, root)


def accepted_classes(schema: Schema, root: Schema, depth: int = 0) -> frozenset[type]:
    """Return the classes of the values that `schema` accepts; possibly too many, never too few."""
    if not isinstance(schema, dict):
        return _ALL if schema else frozenset()
    classes = _ALL
    if "type" in schema:
        names = types_of(schema)
        if JSON_TYPES.keys() >= set(names):  # always, unless this document was never compiled
            classes &= _with_numbers(kind for name in names for kind in JSON_TYPES[name].classes)
    if "const" in schema or "enum" in schema:
        classes &= _with_numbers(map(type, choices_of(schema)))
    if depth < _MAX_DEPTH:
        if "$ref" in schema:
            classes &= accepted_classes(_target(root, schema["$ref"]), root, depth + 1)
        for part in schema.get("allOf", ()):
            classes &= accepted_classes(part, root, depth + 1)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                classes &= frozenset().union(*(accepted_classes(part, root, depth + 1) for part in schema[keyword]))
    return classes


def _with_numbers(classes: Iterable[type]) -> frozenset[type]:
    accepted = frozenset(classes)
    return accepted | _NUMBERS if accepted & _NUMBERS else accepted


def tags(schema: Schema, root: Schema, depth: int = 0) -> dict[str, list[Any]]:
    """Return the required members with fixed values, which distinguish alternatives."""
    if isinstance(schema, bool) or depth > _MAX_DEPTH:
        return {}
    values = tags(resolve(root, schema["$ref"]), root, depth + 1) if "$ref" in schema else {}
    for key, part in schema.get("properties", {}).items():
        if isinstance(part, dict) and key in schema.get("required", ()) and not {"const", "enum"}.isdisjoint(part):
            values[key] = choices_of(part)
    return values
