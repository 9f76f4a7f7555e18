"""Refuse, when a tool is defined, every schema that could not be enforced as it is written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

from tools_core._jsonschema._keywords import ONE_SCHEMA, SCHEMA_LIST, SCHEMA_MAP
from tools_core._jsonschema._pointer import Schema, parts_of, resolve
from tools_core._jsonschema._regex import translate
from tools_core._jsonschema._shapes import REFUSED, SHAPES
from tools_core._values._errors import SchemaError
from tools_core._values._problem import clip, show

if TYPE_CHECKING:
    from collections.abc import Iterator

# A place in the schema is a linked pair, cheap to extend and rendered only for an error.
Place: TypeAlias = "tuple[Place, str | int] | None"


def examine(schema: Schema) -> Schema:
    """Return a private copy of `schema`, proven to hold only what can be enforced; else raise SchemaError."""
    try:
        root: Schema = json.loads(json.dumps(schema, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise SchemaError(f"the schema is not JSON: {error}") from None
    examination = _Examination(root)
    examination.visit(root, None)
    examination.follow_references()
    return root


class _Examination:
    def __init__(self, root: Schema) -> None:
        self.root = root
        self.visited: set[int] = set()
        self.references: list[tuple[dict[str, Any], Place]] = []
        self.anchors: dict[str, Place] = {}

    def visit(self, schema: Any, place: Place) -> None:
        if schema is True or schema is False:
            return
        if type(schema) is not dict:
            raise _error(place, f"must be a schema, an object or a boolean, got {show(schema)}")
        self.visited.add(id(schema))
        for keyword, value in schema.items():
            at = (place, keyword)
            if keyword in SHAPES:
                self.check_keyword(schema, keyword, at)
            elif keyword in REFUSED:
                raise _error(at, f'"{keyword}" is not supported: {REFUSED[keyword]}')
            elif keyword in ONE_SCHEMA:
                if keyword == "items" and isinstance(value, list):
                    raise _error(at, '"items" must be one schema; write "prefixItems" for a list of schemas')
                self.visit(value, at)
            elif keyword in SCHEMA_LIST or keyword in SCHEMA_MAP:
                for key, part in _parts(keyword, value, at):
                    self.visit(part, (at, key))

    def check_keyword(self, schema: dict[str, Any], keyword: str, at: tuple[Place, str]) -> None:
        value = schema[keyword]
        is_well_formed, expected = SHAPES[keyword]
        if not is_well_formed(value):
            raise _error(at, f'"{keyword}" must be {expected}, got {show(value)}')
        if keyword == "$ref":
            self.references.append((schema, at))
        elif keyword == "$anchor":
            self.anchors[f"#{value}"] = at[0]
        elif keyword == "$id" and at != (None, "$id"):
            raise _error(at, '"$id" is supported at the root alone: move the schema into "$defs"')
        elif keyword == "pattern":
            _check_pattern(value, at)

    def follow_references(self) -> None:
        """Check that each reference has a target, and replace names of anchors by pointers."""
        for schema, at in self.references:  # grows while targets outside the known keywords are visited
            reference = schema["$ref"]
            if reference in self.anchors:
                pointer = "/".join(["#", *_steps(self.anchors[reference])])
                reference = schema["$ref"] = pointer.replace("%", "%25")
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


def _steps(place: Place) -> list[str]:
    """Return the escaped steps of a JSON pointer to a place."""
    steps: list[str] = []
    while place is not None:
        place, key = place
        steps.append(str(key).replace("~", "~0").replace("/", "~1"))
    return steps[::-1]


def _error(place: Place, text: str) -> SchemaError:
    pointer = "/".join(["#", *(clip(step, 60) for step in _steps(place))])
    return SchemaError(f"the schema at {clip(pointer, 200)} cannot be enforced: {text}")
