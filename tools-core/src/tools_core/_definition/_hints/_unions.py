"""Hints that leave a choice: unions, optional values, Literal."""

from __future__ import annotations

from enum import Enum
from types import NoneType
from typing import TYPE_CHECKING, Any

from tools_core._definition._hints._basic_types import JSON_TYPES, as_float
from tools_core._definition._hints._convert import Problems
from tools_core._definition._hints._reading import HintReader, Reading, Schema, Unsupported, hint_name
from tools_core._values._problem import Path, Problem

if TYPE_CHECKING:
    from tools_core._definition._hints._convert import Converter
    from tools_core._jsonschema import Validator

_SCALARS = ("string", "integer", "number", "boolean")
_NULL = {"type": "null"}


def read_union(reader: HintReader, args: tuple[Any, ...]) -> Reading:
    """Read `X | Y`; None among them makes the value nullable."""
    readings = [reader.read(arg) for arg in args]
    schema = join([one for one, _ in readings])
    if not any(convert for _, convert in readings):
        return schema, None
    if {convert for _, convert in readings} <= {None, as_float}:
        is_integer = any(one.get("type") == "integer" for one, _ in readings)
        return schema, None if is_integer else as_float
    real = [one for one, arg in zip(readings, args, strict=True) if arg is not NoneType and arg is not None]
    if len(real) == 1:
        return schema, _optional(real[0][1])
    return schema, _Choice(readings, reader.defs)


def join(schemas: list[Schema]) -> Schema:
    """Allow what any of `schemas` allows: a list of types where they are plain, else `anyOf`."""
    if all(one.keys() == {"type"} for one in schemas):
        return {"type": _types(schemas)}
    first, *rest = sorted(schemas, key=lambda one: one == _NULL)
    if rest == [_NULL] and "enum" not in first and first.get("type") in _SCALARS:
        return {**first, "type": [first["type"], "null"]}
    return {"anyOf": schemas}


def _types(schemas: list[Schema]) -> list[str]:
    types: list[str] = []
    for one in schemas:
        types += [one["type"]] if isinstance(one["type"], str) else one["type"]
    return list(dict.fromkeys(types))


def _optional(convert: Converter | None) -> Converter | None:
    if convert is None:
        return None

    def nullable(value: Any, path: Path, problems: Problems) -> Any:
        return None if value is None else convert(value, path, problems)

    return nullable


class _Choice:
    """Convert with the first branch whose schema accepts the value and whose converter does, too."""

    __slots__ = ("branches", "defs", "validators")

    def __init__(self, branches: list[Reading], defs: Schema) -> None:
        self.branches = branches
        self.defs = defs
        self.validators: list[Validator] = []  # made at first use, when `defs` is complete

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
            found = Problems()
            converted = convert(value, path, found)
            if not found:
                return converted
            first = first or found
        problems += first or [Problem(path, "fits none of its types")]
        return None

    def _compile(self) -> list[Validator]:
        from tools_core._jsonschema import compile_schema  # no other hint needs the compiler

        self.validators = [compile_schema({**one, "$defs": self.defs}) for one, _ in self.branches]
        return self.validators


def read_choices(hint: Any, wanted: tuple[Any, ...]) -> Reading:
    """Read the members of a Literal or an Enum: the model sees values, the tool gets the members."""
    values = [one.value if isinstance(one, Enum) else one for one in wanted]
    types = {JSON_TYPES.get(type(value)) for value in values}
    if None in types or not types:
        reason = "has a member that is no JSON value" if types else "has no members"
        raise Unsupported(f"{hint_name(hint)} {reason}", "give its members strings or numbers as values")
    schema: Schema = {"enum": values}
    if len(types) == 1:
        schema = {"type": types.pop(), "enum": values}
    members = {one.value: one for one in wanted if isinstance(one, Enum)}

    def member(value: Any, path: Path, problems: Problems) -> Any:
        return None if path in problems.refused else members.get(value, value)

    return schema, member if members else None
