"""Refuse schemas that cannot be enforced, when a tool is defined."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tools_core._jsonschema._keywords import ONE_SCHEMA, SCHEMA_LIST, SCHEMA_MAP, UNSUPPORTED, VALUES
from tools_core._jsonschema._patterns import search_of
from tools_core._jsonschema._types import Schema, reference_keys, resolve
from tools_core._values._errors import SchemaError
from tools_core._values._problem import Path, clip, path_keys, show


def examine(schema: Schema) -> Schema:
    """Return a private copy of `schema`; SchemaError if it has something that cannot be enforced."""
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
        self.visited: set[int] = set()  # ids of subschemas, which `root` keeps alive
        self.references: list[tuple[str, Path]] = []

    def visit(self, schema: Any, path: Path) -> None:
        if schema is True or schema is False:
            return
        if type(schema) is not dict:
            raise _error(path, f"must be a schema, an object or a boolean, got {show(schema)}")
        self.visited.add(id(schema))
        for keyword, value in schema.items():
            at = (path, keyword)
            if keyword in VALUES:
                self.check_value(keyword, value, at)
            elif keyword in UNSUPPORTED:
                raise _error(at, f'"{keyword}" is not supported: {UNSUPPORTED[keyword]}')
            elif keyword in ONE_SCHEMA:
                if keyword == "items" and isinstance(value, list):
                    raise _error(at, '"items" must be one schema; write "prefixItems" for a list of schemas')
                self.visit(value, at)
            elif keyword in SCHEMA_LIST or keyword in SCHEMA_MAP:
                for key, part in _parts(keyword, value, at):
                    self.visit(part, (at, key))

    def check_value(self, keyword: str, value: Any, at: tuple[Path, str]) -> None:
        is_valid, expected = VALUES[keyword]
        if not is_valid(value):
            raise _error(at, f'"{keyword}" must be {expected}, got {show(value)}')
        if keyword == "$ref":
            self.references.append((value, at))
        elif keyword == "$id" and at != (None, "$id"):
            raise _error(at, '"$id" is supported at the root alone: move the schema into "$defs"')
        elif keyword == "pattern":
            _check_pattern(value, at)

    def follow_references(self) -> None:
        """Check that each reference has a target."""
        for reference, at in self.references:  # grows while targets outside the known keywords are visited
            try:
                target = resolve(self.root, reference)
            except (LookupError, ValueError):
                text = f'"$ref" {show(reference)} cannot be resolved; point with "#/$defs/name"'
                raise _error(at, text) from None
            if id(target) not in self.visited:
                path: Path = None
                for key in reference_keys(self.root, reference):
                    path = (path, key)
                self.visit(target, path)


def _parts(keyword: str, value: Any, at: Path) -> Iterator[tuple[str | int, Any]]:
    """Yield the subschemas of a keyword that has several, with their keys."""
    if keyword in SCHEMA_LIST:
        if not isinstance(value, list) or (not value and keyword != "prefixItems"):
            raise _error(at, f'"{keyword}" must be an array of schemas, got {show(value)}')
        yield from enumerate(value)
    elif not isinstance(value, dict):
        raise _error(at, f'"{keyword}" must be an object of schemas, got {show(value)}')
    else:
        for pattern in value if keyword == "patternProperties" else ():
            _check_pattern(pattern, (at, pattern))
        yield from value.items()


def _check_pattern(pattern: str, at: Path) -> None:
    try:
        search_of(pattern)
    except ValueError as error:
        raise _error(at, f"the pattern {show(pattern)} is not supported: {error}") from None


def _error(path: Path, text: str) -> SchemaError:
    keys = [str(key).replace("~", "~0").replace("/", "~1") for key in path_keys(path)]
    pointer = "/".join(["#", *(clip(key, 60) for key in keys)])
    return SchemaError(f"the schema at {clip(pointer, 200)} cannot be enforced: {text}")
