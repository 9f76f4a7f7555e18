"""What is known of a tool once it is defined, and never changes after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_core._values._frozen import freeze, thaw

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tools_core._definition._draft import Convert
    from tools_core._definition._parameter import Parameter
    from tools_core._jsonschema import Report, Validator

_ASYNC = 0x80 | 0x200  # inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR, without importing inspect


class Spec:
    """The frozen definition of one tool's arguments.

    `accepts` is the validator's own, compiled at its first call.
    """

    def __init__(
        self,
        input_schema: dict[str, Any],
        *,
        description: str = "",
        output_schema: dict[str, Any] | None = None,
        context: str | None = None,
        convert: Convert | None = None,
        is_async: bool = False,
        validator: Validator | None = None,
    ) -> None:
        self.input_schema: dict[str, Any] = freeze(input_schema)
        self.output_schema: dict[str, Any] | None = freeze(output_schema)
        self.description = description  # the part of the docstring that is for the model
        self.context = context  # the name of the parameter that is injected and never shown
        self.convert = convert
        self.is_async = is_async
        self._validator = validator
        self.accepts: Callable[[Any], bool] = self._first_accepts

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The parameters by name, read from the schema."""
        from tools_core._definition._parameter import parameters_of  # calls and definitions never need it

        return parameters_of(self.input_schema)

    @property
    def validator(self) -> Validator:
        if self._validator is None:
            from tools_core._jsonschema import compile_schema  # the first call pays for the compiler

            self._validator = compile_schema(self.input_schema, trusted=True)
        return self._validator

    def _first_accepts(self, value: Any) -> bool:
        self.accepts = self.validator.accepts
        return self.accepts(value)

    def check(self, value: Any, *, repair: bool = True) -> Report:
        """Report every problem of `value`, and repair what can be repaired."""
        return self.validator.check(value, repair=repair)

    def copy_of_schemas(self) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """Input and output schema as ordinary dicts that are the caller's own."""
        return thaw(self.input_schema), thaw(self.output_schema)


def is_async(function: Any) -> bool:
    """Return whether calling `function` gives a coroutine or an asynchronous generator."""
    function = getattr(function, "func", function)  # functools.partial
    if not hasattr(function, "__code__"):
        function = getattr(type(function), "__call__", function)  # noqa: B004  (its code is wanted, not whether it is there)
    code = getattr(function, "__code__", None)
    return code is not None and bool(code.co_flags & _ASYNC)
