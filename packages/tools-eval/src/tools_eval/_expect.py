"""Expectations of a case: which tools a model must call, and with which arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from runpy import run_path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from tools_core import InvalidArguments, ToolCall
from tools_core import schema as json_schema

Schemas = Mapping[str, Mapping[str, Any]]  # the input schemas of the offered tools, by name


class CaseError(ValueError):
    """A file of cases that cannot be used; the message has the file, and for TOML the line and the key."""


def as_pattern(text: str) -> str:
    """Return a regular expression of Python; ValueError if it is none."""
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return text


class Condition(BaseModel, frozen=True, extra="forbid", arbitrary_types_allowed=True):
    """A condition on one argument. A value that is not a table is the condition `equals`."""

    model_config = ConfigDict(populate_by_name=True)

    equals: Any = None
    pattern: Annotated[str, AfterValidator(as_pattern)] | None = None
    minimum: int | float | None = None
    maximum: int | float | None = None
    json_schema: dict[str, Any] | None = Field(default=None, alias="schema")
    check: Callable[[Any], object] | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_value(cls, value: Any) -> Any:
        if callable(value):
            return {"check": value}
        if isinstance(value, Mapping) and not value:
            raise ValueError("an empty table has no condition; for an empty object, use { equals = {} }")
        return value if isinstance(value, Mapping | Condition) else {"equals": value}

    @field_validator("equals")
    @classmethod
    def _as_json(cls, value: Any) -> Any:
        """Return a value as a model sends it: TOML has dates, which JSON has as text."""
        try:
            return json.loads(json.dumps(value, allow_nan=False, default=lambda item: item.isoformat()))
        except (AttributeError, RecursionError, TypeError, ValueError) as error:
            raise ValueError("not a JSON value, so no argument can equal it") from error

    @field_validator("check", mode="before")
    @classmethod
    def _import(cls, value: Any, info: ValidationInfo) -> Any:
        return function_of(value, info) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _compile(self) -> Self:
        for schema in self._schemas():
            json_schema.compile(schema)  # SchemaError is a ValueError
        return self

    def _schemas(self) -> Iterator[dict[str, Any]]:
        bounds = {"minimum": self.minimum, "maximum": self.maximum}
        if bounds := {key: bound for key, bound in bounds.items() if bound is not None}:
            yield {"type": "number"} | bounds
        if self.json_schema is not None:
            yield self.json_schema

    def problem(self, arguments: Mapping[str, Any], name: str) -> str | None:
        """Return why an argument does not meet the condition, or None."""
        if name not in arguments:
            return f"{name} is missing"
        value = arguments[name]
        if "equals" in self.model_fields_set and not json_schema.compile({"const": self.equals}).is_valid(value):
            return f"{name} must be {self.equals!r}, got {value!r}"
        if self.pattern is not None and not (isinstance(value, str) and re.search(self.pattern, value)):
            return f"{name} must match {self.pattern!r}, got {value!r}"
        for schema in self._schemas():
            for problem in json_schema.compile(schema).check(value, repair=False).problems:
                separator = "" if problem.path[:1] in ("", "[") else "."
                return f"{name}{separator}{problem.path} {problem.text}"
        if self.check is not None and not self.check(value):
            return f"{name} was rejected by {getattr(self.check, '__name__', 'check')}(), got {value!r}"
        return None


class ExpectedCall(BaseModel, frozen=True, extra="forbid"):
    """A call that the model must make; arguments that it does not name may have any value."""

    tool: str
    arguments: dict[str, Condition] = {}

    def problems(self, call: ToolCall, schemas: Schemas) -> list[str]:
        """Return why a call is another one; the name comes first."""
        if call.name != self.tool:
            return [f"expected {self.tool}, got {call.name}"]
        arguments, problems = read_arguments(call, schemas)
        failures = (condition.problem(arguments, name) for name, condition in self.arguments.items())
        return [f"{self.tool}: {problem}" for problem in [*problems, *filter(None, failures)]]


def read_arguments(call: ToolCall, schemas: Schemas) -> tuple[dict[str, Any], list[str]]:
    """Return the arguments of a call with the defaults of its tool, and why they are invalid."""
    try:
        arguments = call.arguments
    except InvalidArguments as error:
        return {}, [str(error)]
    schema = dict(schemas.get(call.name, {"type": "object"}))
    report = json_schema.compile(schema).check(arguments)
    if report.problems:
        return arguments, [f"{problem.path or 'arguments'} {problem.text}" for problem in report.problems]
    properties = schema.get("properties", {}).items()
    defaults = {
        name: member["default"] for name, member in properties if isinstance(member, Mapping) and "default" in member
    }
    return defaults | report.value, []


def assign(
    expected: Sequence[ExpectedCall], calls: Sequence[ToolCall], schemas: Schemas, *, ordered: bool
) -> list[int]:
    """Return the most expected calls, by index, that different calls fulfil; with `ordered` in the same order."""
    fits = [[not item.problems(call, schemas) for call in calls] for item in expected]
    return _assign_in_order(fits) if ordered else _assign(fits)


def _assign(fits: Sequence[Sequence[bool]]) -> list[int]:
    """Return the rows of a largest matching of rows and columns."""
    rows: dict[int, int] = {}  # by column

    def place(row: int, tried: set[int]) -> bool:
        for column, fit in enumerate(fits[row]):
            if fit and column not in tried:
                tried.add(column)
                if column not in rows or place(rows[column], tried):  # the other row may have another column
                    rows[column] = row
                    return True
        return False

    for row in range(len(fits)):
        place(row, set())
    return sorted(rows.values())


def _assign_in_order(fits: Sequence[Sequence[bool]]) -> list[int]:
    """Return the most rows whose columns are in the same order."""
    columns = len(fits[0]) if fits else 0
    later: list[list[int]] = [[]] * (columns + 1)  # the rows below that fit columns from each one on
    for row in range(len(fits) - 1, -1, -1):
        best: list[list[int]] = [[]] * (columns + 1)
        for column in range(columns - 1, -1, -1):
            options = [later[column], best[column + 1]]
            options += [[row, *later[column + 1]]] if fits[row][column] else []
            best[column] = max(options, key=len)
        later = best
    return later[0]


def run_file(path: Path) -> dict[str, Any]:
    """Run a Python file, and return its names. Raises CaseError with the reason if it fails."""
    try:
        return run_path(str(path))
    except (Exception, SystemExit) as error:  # the user's code may raise anything
        raise CaseError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error


def function_of(reference: str, info: ValidationInfo) -> Callable[[Any], object]:
    """Return the function of `FILE.py:NAME`, relative to the case file, or of `package.module:NAME`."""
    folder: Path = (info.context or {}).get("folder", Path())
    place, _, name = reference.rpartition(":")
    try:
        names = run_file(folder / place) if place.endswith(".py") else vars(import_module(place))
        return names[name]  # type: ignore[no-any-return]
    except (ImportError, KeyError, ValueError) as error:
        expected = "expected FILE.py:NAME or package.module:NAME"
        raise ValueError(f"{reference!r} is not a function ({error}): {expected}") from error
