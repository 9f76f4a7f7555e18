"""`arguments_for`: a hypothesis strategy of the arguments of any tool; and the validator of an input schema."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from random import Random
from typing import TYPE_CHECKING, Any, Literal

from hypothesis import HealthCheck, Phase, find, given, reject, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument, NoSuchExample, Unsatisfiable

from tools_core import tool as define_tool
from tools_testing._arguments._invalid import changed, hostile
from tools_testing._arguments._strategies import Strategies
from tools_testing._fixtures import one_tool

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from tools_testing._arguments._invalid import Draw

Kind = Literal["valid", "invalid", "hostile"]

_SEARCH = 50  # attempts to find the first value
_CHANGES = 3  # attempts to make valid arguments invalid

QUIET = settings(
    database=None,
    deadline=None,
    derandomize=False,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),  # pyright: ignore[reportArgumentType]  # its metaclass iterates
)


class NoValueError(ValueError):
    """Raised if a search finds no arguments of a kind; the message names the part of the schema without values."""


def arguments_for(tool: Any, kind: Kind = "valid") -> SearchStrategy[Any]:
    """Return a hypothesis strategy of arguments for a tool, or for an input schema.

    "valid" arguments are accepted without a repair. "invalid" ones are objects, one change away from a valid one, that
    are refused. "hostile" ones are of any type: broken JSON text, values that are not JSON, valid arguments with
    something added; the tool may accept some of them.

    Raises:
        NoValueError: No such arguments were found within a bounded search.
        DefinitionError: The core does not support the schema.
    """
    if kind not in ("valid", "invalid", "hostile"):
        raise ValueError(f'kind is "valid", "invalid" or "hostile", got {kind!r}')
    schema = tool if isinstance(tool, Mapping) else one_tool(tool).definition["input_schema"]
    validator = Validator(schema)
    valid = _valid(validator)
    if kind == "valid":
        return valid
    if kind == "hostile":
        return _derived(valid, hostile)
    invalid = _derived(valid, lambda draw, arguments: _invalid(draw, arguments, validator))
    if not _has_value(invalid):
        raise NoValueError(
            "no invalid object was found: the schema accepts any. "
            'Set "additionalProperties": false, or describe the parameters'
        )
    return invalid


def samples(schema: Mapping[str, Any], count: int, kind: Kind = "valid") -> list[Any]:
    """Return some arguments, the same ones each time; the first are the simplest."""
    values: list[Any] = []

    @seed(0)
    @settings(QUIET, max_examples=count)
    @given(arguments_for(schema, kind))
    def collect(arguments: Any) -> None:
        values.append(arguments)

    collect()
    return values


def _valid(validator: Validator) -> SearchStrategy[dict[str, Any]]:
    strategies = Strategies(validator.schema)
    valid: SearchStrategy[dict[str, Any]] = strategies.of(validator.schema).filter(validator.accepts)
    if _has_value(valid):
        return valid
    properties = validator.schema.get("properties", {})
    without = [
        name
        for name in validator.schema.get("required", ())
        if not _has_value(strategies.of(properties.get(name, True)))
    ]
    place = f"the required parameter {without[0]!r}" if without else "the schema as a whole"
    raise NoValueError(
        f"no valid value was found for {place} in {_SEARCH} attempts. Its keywords may exclude each other; "
        "if they do not, give sample arguments instead"
    )


def _has_value(strategy: SearchStrategy[Any]) -> bool:
    try:
        if strategy.is_empty:
            return False
        find(strategy, lambda _: True, settings=settings(QUIET, max_examples=_SEARCH), random=Random(0))  # noqa: S311  (the same examples in each run)
    except (InvalidArgument, NoSuchExample, Unsatisfiable):
        return False
    return True


def _derived(valid: SearchStrategy[dict[str, Any]], make: Any) -> SearchStrategy[Any]:
    @st.composite
    def derived(draw: Draw) -> Any:
        return make(draw, draw(valid))

    return derived()


def _invalid(draw: Draw, valid: dict[str, Any], validator: Validator) -> Any:
    for _ in range(_CHANGES):
        arguments = changed(draw, valid)
        if validator.refuses(arguments):
            return arguments
    return reject()


class Validator:
    """The core's validator of one input schema, reached through a tool that has it.

    Raises DefinitionError for a schema that the core does not support.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._exact = define_tool(_echo, name="echo", input_schema=schema, repair=False)
        self._repairing = define_tool(_echo, name="echo", input_schema=schema)
        self.schema: dict[str, Any] = self._exact.definition["input_schema"]

    def accepts(self, arguments: Any) -> bool:
        """Return whether the arguments are valid without a repair."""
        return self._exact.call(arguments).ok

    def refuses(self, arguments: Any) -> bool:
        """Return whether the arguments are invalid and no repair helps."""
        return not self._repairing.call(arguments).ok


def fits(schema: Mapping[str, Any], value: Any) -> bool:
    """Return whether a JSON value fits a schema; True for one that refers to its own root."""
    if re.search(r'"\$ref": "#(?!/\$defs/)', json.dumps(schema)):
        return True  # the root is another one below
    properties = {"value": {key: part for key, part in schema.items() if key != "$defs"}}
    return Validator({"type": "object", "properties": properties, "$defs": schema.get("$defs", {})}).accepts(
        {"value": value}
    )


def _echo(**arguments: Any) -> None:
    """Do nothing."""
