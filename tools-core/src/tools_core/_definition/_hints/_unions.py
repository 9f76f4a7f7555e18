"""Hints with alternatives: unions, optional values, Literal and Enum."""

from __future__ import annotations

from enum import Enum
from types import NoneType
from typing import Any

from tools_core._definition._hints._annotations import HintReader, Reading, Schema, Unsupported, hint_name
from tools_core._definition._hints._converters import Converter, Problems
from tools_core._definition._hints._scalars import SCALARS, as_float
from tools_core._jsonschema import Validator, compile_schema
from tools_core._values._problem import Path, Problem

_SCALARS = ("string", "integer", "number", "boolean")
_NULL = {"type": "null"}


def read_union(reader: HintReader, args: tuple[Any, ...]) -> Reading:
    """Read `X | Y`; with None, the value is nullable."""
    readings = [reader.read(arg) for arg in args]
    schema = join([schema for schema, _ in readings])
    if not any(convert for _, convert in readings):
        return schema, None
    if {convert for _, convert in readings} <= {None, as_float}:
        is_integer = any(branch.get("type") == "integer" for branch, _ in readings)
        return schema, None if is_integer else as_float
    others = [reading for reading, arg in zip(readings, args, strict=True) if arg is not NoneType and arg is not None]
    if len(others) == 1:
        return schema, _optional(others[0][1])
    return schema, _Choice(readings, reader.defs)


def join(schemas: list[Schema]) -> Schema:
    """Return a schema for the values of any of `schemas`: a list of types if possible, else `anyOf`."""
    if all(schema.keys() == {"type"} for schema in schemas):
        return {"type": _types(schemas)}
    first, *rest = sorted(schemas, key=lambda schema: schema == _NULL)
    if rest == [_NULL] and "enum" not in first and first.get("type") in _SCALARS:
        return {**first, "type": [first["type"], "null"]}
    return {"anyOf": schemas}


def _types(schemas: list[Schema]) -> list[str]:
    types: list[str] = []
    for schema in schemas:
        types += [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    return list(dict.fromkeys(types))


def _optional(convert: Converter | None) -> Converter | None:
    if convert is None:
        return None

    def nullable(value: Any, path: Path, problems: Problems) -> Any:
        return None if value is None else convert(value, path, problems)

    return nullable


class _Choice:
    """Convert with the first branch whose schema and converter accept the value."""

    __slots__ = ("branches", "defs", "validators")

    def __init__(self, branches: list[Reading], defs: Schema) -> None:
        self.branches = branches
        self.defs = defs
        self.validators: list[Validator] = []  # compiled at first use, when `defs` is complete

    def __call__(self, value: Any, path: Path, problems: Problems) -> Any:
        if path in problems.refused:
            return None
        first = Problems()
        validators = self.validators or self._compile()
        for (_, convert), validator in zip(self.branches, validators, strict=True):
            if not validator.is_valid(value):
                continue
            if convert is None:
                return value
            branch_problems = Problems()
            converted = convert(value, path, branch_problems)
            if not branch_problems:
                return converted
            first = first or branch_problems
        problems += first or [Problem(path, "matches none of its types")]
        return None

    def _compile(self) -> list[Validator]:
        self.validators = [compile_schema({**schema, "$defs": self.defs}) for schema, _ in self.branches]
        return self.validators


def read_choices(hint: Any, choices: tuple[Any, ...]) -> Reading:
    """Read the members of a Literal or an Enum: models see values, the tool receives members."""
    values = [choice.value if isinstance(choice, Enum) else choice for choice in choices]
    types = {SCALARS.get(type(value)) for value in values}
    if None in types or not types:
        reason = "has a member that is not a JSON value" if types else "has no members"
        raise Unsupported(f"{hint_name(hint)} {reason}", "give its members strings or numbers as values")
    schema: Schema = {"enum": values}
    if len(types) == 1:
        schema = {"type": types.pop(), "enum": values}
    members = {choice.value: choice for choice in choices if isinstance(choice, Enum)}

    def member(value: Any, path: Path, problems: Problems) -> Any:
        return None if path in problems.refused else members.get(value, value)

    return schema, member if members else None
