"""`Spec`: the definition of a tool's arguments and results, as a call needs it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, TypeAlias

from tools_core._definition._parameter import Parameter
from tools_core._values._errors import DefinitionError, InvalidArguments
from tools_core._values._problem import Problem, path_keys
from tools_core.schema import Validator
from tools_core.schema import compile as compile_schema

Arguments: TypeAlias = dict[str, Any]


@dataclass(kw_only=True)
class Spec:
    """The definition of a tool, apart from its name and options. Treat it as immutable."""

    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None = None
    description: str = ""  # the part of the docstring that models read
    context: str | None = None  # the parameter that receives the Context
    # Converts arguments without problems; raises InvalidArguments with all problems.
    convert: Callable[[Arguments, Sequence[Problem]], Arguments] | None = None
    is_async: bool = False
    examples: Sequence[Arguments] = ()
    unused_docs: Sequence[str] = ()  # parameters in the docstring that the function does not have
    validator: Validator = field(init=False)  # of the input schema

    def __post_init__(self) -> None:
        self.validator = compile_schema(self.input_schema)

    @cached_property
    def parameters(self) -> Mapping[str, Parameter]:
        """The parameters by name, in their order."""
        required = self.input_schema.get("required", ())
        return MappingProxyType(
            {
                name: Parameter.from_schema(
                    name, schema if isinstance(schema, Mapping) else {}, required=name in required
                )
                for name, schema in self.input_schema["properties"].items()
            }
        )


def is_async(function: Any) -> bool:
    """Return whether calling `function` returns a coroutine or an asynchronous generator."""
    if not inspect.isroutine(function) and not isinstance(function, partial):
        function = type(function).__call__
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def check_defaults(spec: Spec, owner: str) -> None:
    """Refuse defaults that their type hints do not allow.

    Only defaults in the schema are checked: not None, which stands for "absent" in `x: int = None`, and not objects
    that JSON cannot express.
    """
    properties = spec.input_schema["properties"]
    defaults = {name: schema["default"] for name, schema in properties.items() if "default" in schema}
    if not defaults:
        return
    for problem in spec.validator.check(defaults, repair=False).problems:
        if not defaults.keys().isdisjoint(path_keys(problem.where)[:1]):
            raise DefinitionError(f"{owner}: the default of {problem}; change the default or the type hint")


def checked_examples(spec: Spec, owner: str, examples: Iterable[Mapping[str, Any]]) -> list[Arguments]:
    """Return a copy of the examples; DefinitionError if one is not a valid call."""
    copies = []
    for number, example in enumerate(examples, 1):
        if not isinstance(example, Mapping):
            raise DefinitionError(f"{owner}: example {number} must be a dict of arguments, got {example!r}")
        copies.append(arguments := deepcopy(dict(example)))
        problems: Sequence[Problem] = spec.validator.check(arguments, repair=False).problems
        if not problems and spec.convert is not None:
            try:
                spec.convert(arguments, ())
            except InvalidArguments as error:
                problems = error.problems
        if problems:
            raise DefinitionError(f"{owner}: example {number} is not a valid call: {InvalidArguments(problems)}")
    return copies
