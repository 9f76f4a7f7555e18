"""Hints with alternatives: unions, optional values, Literal and Enum."""

from __future__ import annotations

from enum import Enum, Flag
from functools import cached_property, reduce
from operator import or_
from typing import Any

from tools_core._definition._hints._annotations import Reading, Schema, Unsupported, hint_name
from tools_core._definition._hints._converters import Converter, Problems
from tools_core._definition._hints._scalars import SCALARS, as_float
from tools_core._values._problem import Path, Problem
from tools_core.schema import Validator
from tools_core.schema import compile as compile_schema

_SCALARS = ("string", "integer", "number", "boolean")
_NULL = {"type": "null"}


def read_union(readings: list[Reading], defs: Schema) -> Reading:
    """Combine the readings of the types in `X | Y`; with None, the value is nullable."""
    schema = _join([schema for schema, _ in readings])
    converters = {convert for _, convert in readings if convert is not None}
    if converters <= {as_float}:
        is_integer = any(branch.get("type") == "integer" for branch, _ in readings)
        return schema, as_float if converters and not is_integer else None
    if len(readings) == 2 and _NULL in [branch for branch, _ in readings]:
        return schema, _optional(converters.pop())
    return schema, _Choice(readings, defs)


def _join(schemas: list[Schema]) -> Schema:
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


def _optional(convert: Converter) -> Converter:
    def nullable(value: Any, path: Path, problems: Problems) -> Any:
        return None if value is None else convert(value, path, problems)

    return nullable


class _Choice:
    """Convert with the first branch whose schema and converter accept the value."""

    def __init__(self, branches: list[Reading], defs: Schema) -> None:
        self._branches = branches
        self._defs = defs

    @cached_property
    def _validators(self) -> list[Validator]:
        """The validators of the branches, compiled at first use: only then is `defs` complete."""
        return [compile_schema({**schema, "$defs": self._defs}) for schema, _ in self._branches]

    def __call__(self, value: Any, path: Path, problems: Problems) -> Any:
        if path in problems.refused:
            return None
        first = Problems()
        for (_, convert), validator in zip(self._branches, self._validators, strict=True):
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


def read_choices(hint: Any, choices: tuple[Any, ...]) -> Reading:
    """Read the members of a Literal or an Enum: models see values, the tool receives members."""
    values = [choice.value if isinstance(choice, Enum) else choice for choice in choices]
    types = {SCALARS.get(type(value)) for value in values}
    if None in types or not types:
        reason = "has a member that is not a JSON value" if types else "has no members"
        raise Unsupported(f"{hint_name(hint)} {reason}", "give its members strings or numbers as values")
    schema: Schema = {"type": types.pop(), "enum": values} if len(types) == 1 else {"enum": values}
    members = {choice.value: choice for choice in choices if isinstance(choice, Enum)}

    def member(value: Any, path: Path, problems: Problems) -> Any:
        return None if path in problems.refused else members.get(value, value)

    return schema, member if members else None


def read_flags(hint: type[Flag]) -> Reading:
    """Read the members of a Flag: models send a list of names, the tool receives their combination."""
    names = [member.name or "" for member in hint]
    if not names:
        raise Unsupported(f"{hint_name(hint)} has no members", "give it members")
    items: Schema = {"type": "string", "enum": names}

    def combined(value: Any, path: Path, problems: Problems) -> Any:
        return None if path in problems.refused else reduce(or_, (hint[name] for name in value), hint(0))

    return {"type": "array", "items": items, "uniqueItems": True}, combined
