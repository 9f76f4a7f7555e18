"""Schemas of parameters as text: alternatives, types and choices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard

from tools_core._cli._terminal import json_text, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_MEMBER_LIMIT = 3  # of objects within objects whose members are listed
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


def alternatives(schema: Any, root: Mapping[str, Any], outer: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Flatten `$ref`, `anyOf`, `oneOf` and `allOf` into a list of plain schemas."""
    if not is_object(schema) or schema.get("$ref") in outer:
        return []
    found: list[dict[str, Any]] = []
    if "$ref" in schema:
        outer = (*outer, schema["$ref"])  # a reference to itself adds nothing
        found += alternatives(_resolve(schema["$ref"], root), root, outer)
    for keyword in ("anyOf", "oneOf", "allOf"):
        for option in schema.get(keyword, ()):
            found += alternatives(option, root, outer)
    if not found or {"type", "enum", "const", "properties", "items"} & schema.keys():
        found.append(schema)
    return found


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Return whether `value` is a JSON object; a schema may also be `true` or `false`."""
    return isinstance(value, dict)


def types(schema: Mapping[str, Any]) -> set[str]:
    """Return the JSON types of a plain schema or of its choices; an empty set for any type."""
    named = schema.get("type")
    if named is None:
        implied = {kind for keyword, kind in _IMPLIED.items() if keyword in schema}
        return implied or {_TYPE_NAMES[type(value).__name__] for value in listed(schema)}
    return {named} if isinstance(named, str) else set(named)


def kinds_of(options: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the JSON types of several plain schemas."""
    return {kind for option in options for kind in types(option)}


def listed(schema: Mapping[str, Any]) -> list[Any]:
    """Return the values that a plain schema lists by `const` or `enum`."""
    return [schema["const"]] if "const" in schema else list(schema.get("enum", ()))


def choices(schema: Any, root: Mapping[str, Any]) -> list[Any]:
    """Return the values that a schema lists by `enum` or `const`, and true and false for a boolean."""
    found: list[Any] = []
    for option in alternatives(schema, root):
        found += listed(option) or ([True, False] if "boolean" in types(option) else ())
    return found


def property_schema(schema: Any, name: str, root: Mapping[str, Any]) -> Any:
    """Return the schema of a member of an object; None if there is none."""
    for option in alternatives(schema, root):
        if name in option.get("properties", {}):
            return option["properties"][name]
    for option in alternatives(schema, root):
        if is_object(option.get("additionalProperties")):
            return option["additionalProperties"]
    return None


def split_key(key: str, schema: Any, root: Mapping[str, Any]) -> tuple[str, ...]:
    """Split a dotted key at each object of the schema; a name that contains dots stays whole."""
    head, dot, rest = key.partition(".")
    if not (dot and head and rest) or any(key in option.get("properties", {}) for option in alternatives(schema, root)):
        return (key,)
    inner = property_schema(schema, head, root)
    if inner is None:  # an object with any members; an unknown name at the top is not split
        return (key,) if schema is root else tuple(key.split("."))
    if "object" in kinds_of(alternatives(inner, root)):
        return (head, *split_key(rest, inner, root))
    return (key,)


def schema_at(path: Sequence[str], root: Mapping[str, Any]) -> Any:
    """Return the schema of the member at `path`; None if there is none."""
    schema: Any = root
    for name in path:
        schema = property_schema(schema, name, root)
    return schema


def type_text(schema: Any, root: Mapping[str, Any], depth: int = 0) -> str:
    """Return a schema as a type hint: `"C" | "F"`, `array of integer`, `string | null`."""
    if depth > 3:
        return "…"
    words: list[str] = []
    for option in alternatives(schema, root):
        if values := listed(option):
            words += [json_text(value, pretty=False) for value in values]
            continue
        for kind in sorted(types(option), key=lambda kind: (kind == "null", kind)):
            if kind == "array" and "items" in option:
                inner = type_text(option["items"], root, depth + 1)
                words.append(f"array of ({inner})" if " | " in inner else f"array of {inner}")
            else:
                words.append(kind)
    return " | ".join(dict.fromkeys(words)) or "any"


def parameters(schema: Any, root: Mapping[str, Any], prefix: str = "", depth: int = 1) -> Iterator[tuple[str, ...]]:
    """Yield name, type, `required` or default, and description of each parameter; members have dotted names."""
    for option in alternatives(schema, root):
        for name, part in option.get("properties", {}).items():
            needed = "required" if name in option.get("required", ()) else _default(part)
            about = one_line(part.get("description", "")) if is_object(part) else ""
            yield prefix + one_line(name), type_text(part, root), needed, about
            if depth < _MEMBER_LIMIT:
                yield from parameters(part, root, f"{prefix}{one_line(name)}.", depth + 1)


def _default(schema: Any) -> str:
    has_default = is_object(schema) and "default" in schema
    return f"default {json_text(schema['default'], pretty=False)}" if has_default else "optional"


def _resolve(reference: Any, root: Mapping[str, Any]) -> Any:
    """Return the target of a reference within the schema, such as `#/$defs/Order`."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    found: Any = root
    for part in reference[1:].split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        found = found.get(key) if is_object(found) else None
    return found
