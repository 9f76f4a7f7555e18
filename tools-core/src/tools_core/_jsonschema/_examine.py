"""Refuse, when a tool is defined, every schema that could not be enforced as it is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from tools_core._jsonschema._keywords import IN_PLACE_LIST, IN_PLACE_ONE, ONE_SCHEMA, SCHEMA_LIST, SCHEMA_MAP
from tools_core._jsonschema._pointer import Schema, parts_of, resolve
from tools_core._jsonschema._regex import translate
from tools_core._jsonschema._shapes import REFUSED, SHAPES
from tools_core._jsonschema._value import is_clean
from tools_core._values._errors import SchemaError
from tools_core._values._problem import clip, show

# A place in the schema is a linked pair, cheap to extend and rendered only for an error.
Place: TypeAlias = "tuple[Place, str | int] | None"

_DEPTH_LIMIT = 200


def examine(schema: Mapping[str, Any] | bool) -> Schema:
    """Return a private copy of `schema`, proven to hold only what can be enforced; else raise SchemaError."""
    root: Schema = _copied(schema, None, 0)
    examination = _Examination(root)
    examination.visit(root, None)
    examination.follow_references()
    return root


def _copied(value: Any, place: Place, depth: int) -> Any:
    """Copy a schema as plain JSON, so that a later change of the original changes nothing."""
    if depth > _DEPTH_LIMIT:
        raise _error(place, "is nested too deeply, or contains itself; write a recursive schema with $ref")
    if isinstance(value, Mapping):
        out = {}
        for key, item in value.items():
            if not isinstance(key, str) or not is_clean(key):
                raise _error(place, f"must have text as member names, got {show(key)}")
            out[str.__str__(key)] = _copied(item, (place, key), depth + 1)
        return out
    if isinstance(value, list | tuple):
        return [_copied(item, (place, index), depth + 1) for index, item in enumerate(value)]
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str) and is_clean(value):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__index__(value)
    if isinstance(value, float) and value - value == 0.0:
        return float.__pos__(value)
    raise _error(place, f"must be JSON, got {show(value)}")


class _Examination:
    def __init__(self, root: Schema) -> None:
        self.root = root
        self.visited: set[int] = set()
        self.references: list[tuple[str, Place]] = []

    def visit(self, schema: Any, place: Place) -> None:
        if schema is True or schema is False:
            return
        if type(schema) is not dict:
            raise _error(place, f"must be a schema, an object or a boolean, got {show(schema)}")
        self.visited.add(id(schema))
        for keyword, value in schema.items():
            at = (place, keyword)
            if keyword in SHAPES:
                self.check_keyword(keyword, value, at)
            elif keyword in REFUSED:
                raise _error(at, f'"{keyword}" is not supported: {REFUSED[keyword]}')
            elif keyword in ONE_SCHEMA:
                if keyword == "items" and isinstance(value, list):
                    raise _error(at, '"items" must be one schema; write "prefixItems" for a list of schemas')
                self.visit(value, at)
            elif keyword in SCHEMA_LIST or keyword in SCHEMA_MAP:
                for key, part in _parts(keyword, value, at):
                    self.visit(part, (at, key))

    def check_keyword(self, keyword: str, value: Any, at: Place) -> None:
        is_well_formed, expected = SHAPES[keyword]
        if not is_well_formed(value):
            raise _error(at, f'"{keyword}" must be {expected}, got {show(value)}')
        if keyword == "$ref":
            self.references.append((value, at))
        elif keyword == "$id" and at != (None, "$id"):
            raise _error(at, '"$id" is supported at the root alone: move the schema into "$defs"')
        elif keyword == "pattern":
            _check_pattern(value, at)

    def follow_references(self) -> None:
        for reference, at in self.references:  # grows while targets outside the known keywords are visited
            try:
                target = resolve(self.root, reference)
            except (LookupError, ValueError):
                text = f'"$ref" {show(reference)} leads nowhere in this schema; point with "#/$defs/name"'
                raise _error(at, text) from None
            if id(target) not in self.visited:
                place: Place = None
                for part in parts_of(self.root, reference):
                    place = (place, part)
                self.visit(target, place)
        done: set[int] = set()
        for reference, at in self.references:
            _refuse_endless(self.root, resolve(self.root, reference), at, set(), done)


def _parts(keyword: str, value: Any, at: Place) -> Iterator[tuple[str | int, Any]]:
    """Yield the subschemas of a keyword that has several, each with its key."""
    if keyword in SCHEMA_LIST:
        if not isinstance(value, list) or (not value and keyword != "prefixItems"):
            raise _error(at, f'"{keyword}" must be an array of schemas, got {show(value)}')
        yield from enumerate(value)
    elif not isinstance(value, dict):
        raise _error(at, f'"{keyword}" must be an object of schemas, got {show(value)}')
    else:
        for name in value if keyword == "patternProperties" else ():
            _check_pattern(name, (at, name))
        yield from value.items()


def _check_pattern(pattern: str, at: Place) -> None:
    try:
        translate(pattern)
    except ValueError as error:
        raise _error(at, f"the pattern {show(pattern)} is not supported: {error}") from None


def _refuse_endless(root: Schema, schema: Schema, at: Place, path: set[int], done: set[int]) -> None:
    """Refuse a schema that comes back to itself without having gone into the value."""
    if not isinstance(schema, dict) or id(schema) in done:
        return
    if id(schema) in path:
        raise _error(at, '"$ref" leads back to itself without going into the value: let it pass a property or item')
    path.add(id(schema))
    for part in in_place(root, schema):
        _refuse_endless(root, part, at, path, done)
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


def _error(place: Place, text: str) -> SchemaError:
    parts: list[str] = []
    while place is not None:
        place, key = place
        parts.append(clip(str(key), 60).replace("~", "~0").replace("/", "~1"))
    pointer = "/".join(["#", *reversed(parts)])
    return SchemaError(f"the schema at {clip(pointer, 200)} cannot be enforced: {text}")
