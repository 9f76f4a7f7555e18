"""Schemas that hold together (`allOf`, a `$ref` with keywords beside it) as one schema."""

from __future__ import annotations

from math import lcm

from tools_core.formats._words import NOTES, note, text

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

UNIONS = "\0unions"  # further lists of alternatives, of which one has to hold each

_LOWER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains")
_HIGHER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains")
# What can be said of a single value by itself.
_OF_VALUES = frozenset(
    [
        "const",
        "enum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "maxLength",
        "maximum",
        "minLength",
        "minimum",
        "multipleOf",
        "pattern",
        "type",
    ]
)
_OBJECT = frozenset(("properties", "additionalProperties"))


class UnmergeableError(Exception):
    """Two schemas that no single one can stand for."""


class ImpossibleError(UnmergeableError):
    """Two schemas that no value fits."""


def merged(one: Any, two: Any) -> Any:
    """A schema that takes what both take; UnmergeableError when there is no simple one."""
    if one is False or two is False:
        return False
    if one is True or two is True:
        return two if one is True else one
    if "prefixItems" in one or "prefixItems" in two:  # the items of one are the first and the further ones of the other
        mine, other = ([schema.get(key) for key in ("prefixItems", "items")] for schema in (one, two))
        if mine != [None, None] != other and text(mine) != text(other):
            raise UnmergeableError("prefixItems")
    made = {key: value for key, value in one.items() if key not in _OBJECT}
    for key, value in two.items():
        if key in _OBJECT:
            continue
        if key not in made:
            made[key] = value
        elif text(made[key]) != text(value):
            _merge_keyword(made, key, value)
    _narrow(made)
    return made | _merged_object(one, two)


def _narrow(made: dict[str, Any]) -> None:
    """Take out of an enum what the other keywords refuse."""
    key = "const" if "const" in made else "enum"
    if key not in made:
        return
    from tools_core._jsonschema import compile_schema
    from tools_core._values._errors import SchemaError  # for the rare choice that is narrowed

    try:
        judge = compile_schema({name: value for name, value in made.items() if name in _OF_VALUES})
    except SchemaError:
        raise UnmergeableError(key) from None
    given = [made[key]] if key == "const" else made[key]
    values = [value for value in given if not judge.check(value, repair=False).problems]
    if not values:
        raise ImpossibleError(key)
    made[key] = values[0] if key == "const" else values


def _merge_keyword(made: dict[str, Any], key: str, value: Any) -> None:
    mine = made[key]
    if key in _LOWER or key in _HIGHER:
        made[key] = (min if key in _LOWER else max)(mine, value)
    elif key in _MERGERS:
        made[key] = _MERGERS[key](mine, value)
    elif key in ("anyOf", "oneOf"):
        made[UNIONS] = [*made.get(UNIONS, ()), value]
    elif key in (NOTES, UNIONS):
        made[key] = [*mine, *value]
    elif key in ("pattern", "format"):
        made[NOTES] = [*made.get(NOTES, ()), note(key, value) or ""]
    elif key == "const":
        raise ImpossibleError(key)
    elif key in _MEANINGFUL:
        raise UnmergeableError(key)
    # else an annotation, of which the outer one speaks of this very place


def _types(one: Any, two: Any) -> Any:
    mine, other = _expanded(one), _expanded(two)
    both = mine & other
    if "number" in both:
        both -= {"integer"}
    if not both:
        raise ImpossibleError("type")
    return next(iter(both)) if len(both) == 1 else sorted(both)


def _expanded(types: Any) -> set[str]:
    found = {types} if isinstance(types, str) else set(types)
    return found | {"integer"} if "number" in found else found


def _enums(one: list[Any], two: list[Any]) -> list[Any]:
    known = [text(value) for value in two]
    both = [value for value in one if text(value) in known]
    if not both:
        raise ImpossibleError("enum")
    return both


def _multiples(one: Any, two: Any) -> Any:
    if isinstance(one, int) and isinstance(two, int):
        return lcm(one, two)
    raise UnmergeableError("multipleOf")


_MERGERS: dict[str, Callable[[Any, Any], Any]] = {
    "type": _types,
    "enum": _enums,
    "multipleOf": _multiples,
    "required": lambda one, two: list(dict.fromkeys([*one, *two])),
    "items": lambda one, two: {"allOf": [one, two]},
    "propertyNames": lambda one, two: {"allOf": [one, two]},
    "not": lambda one, two: {"anyOf": [one, two]},
    "uniqueItems": lambda one, two: one or two,
    "description": lambda one, _: one,
}
# What narrows, and is not merged above: an annotation is every other keyword.
_MEANINGFUL = frozenset(
    [
        "$ref",
        "contains",
        "dependentRequired",
        "dependentSchemas",
        "else",
        "if",
        "patternProperties",
        "prefixItems",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    ]
)


def _merged_object(one: dict[str, Any], two: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    mine, other = one.get("properties", {}), two.get("properties", {})
    if mine or other:
        made["properties"] = {
            name: _both(_side(one, mine, name), _side(two, other, name)) for name in dict.fromkeys([*mine, *other])
        }
    rests = [side["additionalProperties"] for side in (one, two) if "additionalProperties" in side]
    if rests:
        made["additionalProperties"] = rests[0] if len(rests) == 1 else _both(*rests)
    return made


def _side(schema: dict[str, Any], properties: dict[str, Any], name: str) -> Any:
    """What one of two schemas says of a member."""
    if name in properties:
        return properties[name]
    if "patternProperties" in schema:
        raise UnmergeableError("patternProperties")
    return schema.get("additionalProperties", True)


def _both(one: Any, two: Any) -> Any:
    if one is False or two is False:
        return False
    if one is True or one == {}:
        return two
    if two is True or two == {} or text(one) == text(two):
        return one
    return {"allOf": [one, two]}
