"""JSON Schema as plain dicts: follow references, and combine two schemas into one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Callable

TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
ANNOTATIONS = ("description", "title", "default", "examples", "deprecated", "$comment", "readOnly", "writeOnly")


def resolve(root: dict[str, Any], reference: str) -> Any:
    """Return the part of the schema that a local `$ref` names."""
    target: Any = root
    for part in unquote(reference.partition("#")[2]).split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        target = target[int(name)] if isinstance(target, list) else target[name]
    return target


def types_of(schema: dict[str, Any]) -> tuple[str, ...]:
    """Return the types that a schema allows; all of them if it names none."""
    named = schema.get("type", TYPES)
    return (named,) if isinstance(named, str) else tuple(named)


def merged(first: Any, second: Any) -> Any:
    """Combine two schemas into one that demands both.

    Keywords that cannot be combined, such as two patterns, keep one of their values: the result accepts too much then.
    """
    if first is False or second is False:
        return False
    if first is True or second is True:
        return second if first is True else first
    out: dict[str, Any] = {**first, **second}
    for keyword in first.keys() & second.keys() & _COMBINE.keys():
        out[keyword] = _COMBINE[keyword](first[keyword], second[keyword])
    for group in _ALTERNATIVES:
        if group[0] in first and group[0] in second:
            out["allOf"] = [*out.get("allOf", ()), {keyword: second[keyword] for keyword in group if keyword in second}]
            out = {key: item for key, item in out.items() if key not in group or key in first}
            out |= {keyword: first[keyword] for keyword in group if keyword in first}
    if "properties" in out:
        names = {**first.get("properties", {}), **second.get("properties", {})}
        out["properties"] = {name: merged(_member(first, name), _member(second, name)) for name in names}
    return out


def _member(schema: dict[str, Any], name: str) -> Any:
    member = schema.get("properties", {}).get(name)
    return schema.get("additionalProperties", True) if member is None else member


def _both_types(first: Any, second: Any) -> list[str]:
    left, right = types_of({"type": first}), types_of({"type": second})
    shared = [kind for kind in left if kind in right or (kind == "integer" and "number" in right)]
    return shared + ["integer"] * ("integer" in right and "number" in left and "integer" not in shared)


def _both_mappings(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    return {name: merged(first.get(name, True), second.get(name, True)) for name in {**first, **second}}


_ALTERNATIVES = (("$ref",), ("anyOf",), ("oneOf",), ("if", "then", "else"))
_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
    **dict.fromkeys(("items", "additionalProperties", "propertyNames"), merged),
    **dict.fromkeys(("patternProperties", "$defs"), _both_mappings),
    "type": _both_types,
    "allOf": lambda first, second: [*first, *second],
    "required": lambda first, second: list(dict.fromkeys([*first, *second])),
    "enum": lambda first, second: [value for value in first if value in second],
    "uniqueItems": lambda first, second: first or second,
}
