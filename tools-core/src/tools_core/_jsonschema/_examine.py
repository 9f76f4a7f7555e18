"""Refuse, when a tool is defined, every schema that could not be enforced as it is written."""

from __future__ import annotations

from collections.abc import Mapping

from tools_core._jsonschema._keywords import IN_PLACE_LIST, IN_PLACE_ONE, ONE_SCHEMA, SCHEMA_LIST, SCHEMA_MAP
from tools_core._jsonschema._pointer import resolve
from tools_core._jsonschema._regex import translate
from tools_core._jsonschema._shapes import REFUSED, SHAPES
from tools_core._jsonschema._value import is_clean
from tools_core._values._errors import SchemaError
from tools_core._values._problem import clip, show

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from tools_core._jsonschema._pointer import Schema

_DEPTH_LIMIT = 200


def examine(schema: Mapping[str, Any] | bool) -> Schema:
    """Return a private copy of `schema`, proven to hold only what can be enforced; else raise SchemaError."""
    root: Schema = snapshot(schema, "#", 0)
    examination = _Examination(root)
    examination.visit(root, "#")
    examination.follow_references()
    return root


def snapshot(value: Any, place: str, depth: int) -> Any:
    """Copy a schema as plain JSON, so that a later change of the original changes nothing."""
    kind = type(value)
    if kind is bool or kind is int or value is None or (kind is str and value.isascii()):
        return value
    if depth > _DEPTH_LIMIT:
        raise _error(place, "is nested too deeply, or contains itself; write a recursive schema with $ref")
    if isinstance(value, Mapping):
        return dict(_members(value, place, depth + 1))
    if isinstance(value, list | tuple):
        return [snapshot(item, place, depth + 1) for item in value]
    if isinstance(value, str) and is_clean(value):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__index__(value)
    if isinstance(value, float) and value - value == 0.0:
        return float.__pos__(value)
    raise _error(place, f"must be JSON, got {show(value)}")


def _members(value: Mapping[Any, Any], place: str, depth: int) -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        if not isinstance(key, str) or not is_clean(key):
            raise _error(place, f"must have text as member names, got {show(key)}")
        name = str.__str__(key)
        if type(item) is str and item.isascii():
            yield name, item  # the most of a schema, for which spelling out the place would be in vain
        else:
            yield name, snapshot(item, _join(place, name), depth)


class _Examination:
    def __init__(self, root: Schema) -> None:
        self.root = root
        self.visited: set[int] = set()
        self.references: list[tuple[str, str]] = []

    def visit(self, schema: Any, place: str) -> None:
        if schema is True or schema is False:
            return
        if type(schema) is not dict:
            raise _error(place, f"must be a schema, an object or a boolean, got {show(schema)}")
        self.visited.add(id(schema))
        for keyword, value in schema.items():
            if keyword in SHAPES:
                self.check_keyword(keyword, value, place)
            elif keyword in REFUSED:
                raise _error(_join(place, keyword), f'"{keyword}" is not supported: {REFUSED[keyword]}')
            elif keyword in ONE_SCHEMA or keyword in SCHEMA_LIST or keyword in SCHEMA_MAP:
                for part, at in _parts(keyword, value, _join(place, keyword)):
                    self.visit(part, at)

    def check_keyword(self, keyword: str, value: Any, place: str) -> None:
        fits, expected = SHAPES[keyword]
        if not fits(value):
            raise _error(_join(place, keyword), f'"{keyword}" must be {expected}, got {show(value)}')
        if keyword == "$ref":
            self.references.append((value, _join(place, keyword)))
        elif keyword == "$id" and place != "#":
            raise _error(_join(place, keyword), '"$id" is supported at the root alone: move the schema into "$defs"')
        elif keyword == "pattern":
            _check_pattern(value, _join(place, keyword))

    def follow_references(self) -> None:
        for reference, place in self.references:  # grows while targets outside the known keywords are visited
            try:
                target = resolve(self.root, reference)
            except (LookupError, ValueError):
                raise _error(
                    place, f'"$ref" {show(reference)} leads nowhere in this schema; point with "#/$defs/name"'
                ) from None
            if id(target) not in self.visited:
                self.visit(target, "#" + reference.partition("#")[2])
        done: set[int] = set()
        for reference, place in self.references:
            _refuse_endless(self.root, resolve(self.root, reference), place, set(), done)


def _parts(keyword: str, value: Any, place: str) -> Iterator[tuple[Any, str]]:
    """Yield the subschemas of an applicator keyword with their places."""
    if keyword in ONE_SCHEMA:
        if keyword == "items" and isinstance(value, list):
            raise _error(place, '"items" must be one schema; write "prefixItems" for a list of schemas')
        yield value, place
    elif keyword in SCHEMA_LIST:
        if not isinstance(value, list) or (not value and keyword != "prefixItems"):
            raise _error(place, f'"{keyword}" must be an array of schemas, got {show(value)}')
        yield from ((part, f"{place}/{index}") for index, part in enumerate(value))
    else:
        if not isinstance(value, dict):
            raise _error(place, f'"{keyword}" must be an object of schemas, got {show(value)}')
        for name, part in value.items():
            if keyword == "patternProperties":
                _check_pattern(name, _join(place, name))
            yield part, _join(place, name)


def _check_pattern(pattern: str, place: str) -> None:
    try:
        translate(pattern)
    except ValueError as error:
        raise _error(place, f"the pattern {show(pattern)} is not supported: {error}") from None


def _refuse_endless(root: Schema, schema: Schema, place: str, path: set[int], done: set[int]) -> None:
    """Refuse a schema that comes back to itself without having gone into the value."""
    if not isinstance(schema, dict) or id(schema) in done:
        return
    if id(schema) in path:
        raise _error(place, '"$ref" leads back to itself without going into the value: let it pass a property or item')
    path.add(id(schema))
    for part in in_place(root, schema):
        _refuse_endless(root, part, place, path, done)
    path.discard(id(schema))
    done.add(id(schema))


def in_place(root: Schema, schema: dict[str, Any]) -> Iterator[Schema]:
    """Yield every subschema that is applied to the same value."""
    if "$ref" in schema:
        yield resolve(root, schema["$ref"])
    for keyword in IN_PLACE_ONE:
        if keyword in schema:
            yield schema[keyword]
    for keyword in IN_PLACE_LIST:
        yield from schema.get(keyword, ())
    yield from schema.get("dependentSchemas", {}).values()


def _join(place: str, name: str) -> str:
    return f"{place}/{clip(name, 60).replace('~', '~0').replace('/', '~1')}"


def _error(place: str, text: str) -> SchemaError:
    return SchemaError(f"the schema at {clip(place, 200)} cannot be enforced: {text}")
