"""Expectations of a case: which tools a model must call, and with which arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from runpy import run_path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from tools_core import InvalidArguments, ToolCall
from tools_core import schema as json_schema

Schemas = Mapping[str, Mapping[str, Any]]  # the input schemas of the offered tools, by name


class CaseError(ValueError):
    """A file of cases that cannot be used; the message has the file, and for TOML the line and the key."""


class Condition(BaseModel, frozen=True, extra="forbid", arbitrary_types_allowed=True):
    """A condition on one argument. A value that is not a table is the condition `equals`."""

    model_config = ConfigDict(populate_by_name=True)

    equals: Any = None
    pattern: str | None = None
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

    @field_validator("check", mode="before")
    @classmethod
    def _import(cls, value: Any, info: ValidationInfo) -> Any:
        return _function(value, (info.context or {}).get("folder", Path())) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _compile(self) -> Self:
        for schema in self._schemas():
            json_schema.compile(schema)  # SchemaError is a ValueError
        return self

    def _schemas(self) -> Iterator[dict[str, Any]]:
        if self.pattern is not None:
            yield {"type": "string", "pattern": self.pattern}
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
    defaults = {name: member["default"] for name, member in properties if "default" in member}
    return defaults | report.value, []


def assign(
    expected: Sequence[ExpectedCall], calls: Sequence[ToolCall], schemas: Schemas, *, ordered: bool
) -> list[int]:
    """Return the most expected calls, by index, that different calls fulfil; with `ordered` in the same order."""
    if not expected:
        return []
    head, tail = expected[0], expected[1:]
    options = [[index + 1 for index in assign(tail, calls, schemas, ordered=ordered)]]
    for index, call in enumerate(calls):
        if not head.problems(call, schemas):
            rest = calls[index + 1 :] if ordered else [*calls[:index], *calls[index + 1 :]]
            options.append([0, *(index + 1 for index in assign(tail, rest, schemas, ordered=ordered))])
    return max(options, key=len)


def run_file(path: Path) -> dict[str, Any]:
    """Run a Python file, and return its names. Raises CaseError with the reason if it fails."""
    try:
        return run_path(str(path))
    except (Exception, SystemExit) as error:  # the user's code may raise anything
        raise CaseError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error


def _function(reference: str, folder: Path) -> Callable[[Any], object]:
    """Return the function of `FILE.py:NAME`, relative to the case file, or of `package.module:NAME`."""
    place, _, name = reference.rpartition(":")
    try:
        names = run_file(folder / place) if place.endswith(".py") else vars(import_module(place))
        return names[name]  # type: ignore[no-any-return]
    except (ImportError, KeyError, ValueError) as error:
        expected = "expected FILE.py:NAME or package.module:NAME"
        raise ValueError(f"{reference!r} is not a function ({error}): {expected}") from error
