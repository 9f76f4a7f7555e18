"""`Spec`: the definition of a tool's arguments and results, as a call needs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from tools_core._definition._parameter import Parameter
from tools_core._jsonschema import Report, Validator, compile_schema
from tools_core._values._problem import Problem

Arguments: TypeAlias = dict[str, Any]
# Converts arguments, except those with problems. Raises InvalidArguments with all problems.
Convert: TypeAlias = Callable[[Arguments, Sequence[Problem]], Arguments]

_ASYNC = 0x80 | 0x200  # inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


@dataclass(kw_only=True)
class Spec:
    """The definition of a tool, apart from its name and options. Treat it as immutable."""

    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None = None
    description: str = ""  # the part of the docstring that models read
    context: str | None = None  # the parameter that receives the Context
    convert: Convert | None = None
    is_async: bool = False
    is_trusted: bool = False  # whether this library wrote the whole input schema
    examples: Sequence[Arguments] = ()
    unused_docs: Sequence[str] = ()  # parameters in the docstring that the function does not have

    @cached_property
    def validator(self) -> Validator:
        """The compiled input schema."""
        return compile_schema(self.input_schema, trusted=self.is_trusted)

    @cached_property
    def accepts(self) -> Callable[[Any], bool]:
        """The validator's test of whole arguments."""
        return self.validator.accepts

    def check(self, value: Any, *, repair: bool = True) -> Report:
        """Report every problem of `value`, and repair what can be repaired."""
        return self.validator.check(value, repair=repair)

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The parameters by name, in their order."""
        required = self.input_schema.get("required", ())
        return {
            name: Parameter.from_schema(name, schema if isinstance(schema, Mapping) else {}, required=name in required)
            for name, schema in self.input_schema["properties"].items()
        }

    def copy_of_schemas(self) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """Return copies of the input and the output schema."""
        return deepcopy(self.input_schema), deepcopy(self.output_schema)


def is_async(function: Any) -> bool:
    """Return whether calling `function` returns a coroutine or an asynchronous generator."""
    function = getattr(function, "func", function)  # functools.partial
    if not hasattr(function, "__code__"):
        function = getattr(type(function), "__call__", function)  # noqa: B004  (for its code)
    code = getattr(function, "__code__", None)
    return code is not None and bool(code.co_flags & _ASYNC)
