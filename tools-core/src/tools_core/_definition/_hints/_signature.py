"""`Signature`: the parameters of a callable, their defaults and hints, and its docstring."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, Final

from tools_core._definition._hints._annotations import evaluate
from tools_core._values._errors import DefinitionError

MISSING: Final[Any] = inspect.Parameter.empty
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
# Python 3.14 evaluates annotations when they are read. This format leaves undefined names as forward references.
_FORMAT: dict[str, Any] = {}
if sys.version_info >= (3, 14):
    _FORMAT["annotation_format"] = import_module("annotationlib").Format.FORWARDREF


@dataclass(kw_only=True)
class Signature:
    """A callable as `define` reads it."""

    name: str
    docstring: str | None
    parameters: list[inspect.Parameter]  # without `self`
    hints: Mapping[str, Any]  # of the parameters and of "return", or MISSING
    module: Mapping[str, Any]  # the names that hints may use
    variables: Mapping[str, Any]  # the type variables of `def f[T](...)`

    @property
    def defaults(self) -> dict[str, Any]:
        """The default of every parameter that takes one argument; MISSING if it has none."""
        return {item.name: item.default for item in self.parameters if item.kind not in _VARIADIC}

    @property
    def keywords(self) -> str | None:
        """The name of `**kwargs`."""
        return next((item.name for item in self.parameters if item.kind is item.VAR_KEYWORD), None)

    def hint(self, name: str) -> Any:
        """Return the evaluated hint of a parameter; raises Unsupported."""
        return evaluate(self.hints[name], self.module, self.variables)


def read_signature(function: Callable[..., Any], *, bound: bool = False) -> Signature:
    """Read a callable; `bound` leaves out the first parameter, which is `self`."""
    code = _code_of(function)
    name = getattr(code, "__qualname__", type(function).__qualname__).rpartition("<locals>.")[2]
    try:
        signature = inspect.signature(function, **_FORMAT)
    except (TypeError, ValueError, NameError) as error:
        reason = "its parameters cannot be read; write a function with type hints around it"
        raise DefinitionError(f"{name}: {reason}") from error
    # Models neither see nor override the arguments of a partial.
    fixed = function.keywords if isinstance(function, partial) else {}
    parameters = [parameter for parameter in signature.parameters.values() if parameter.name not in fixed]
    parameters = parameters[1:] if bound else parameters
    return Signature(
        name=name,
        docstring=code.__doc__ or (None if isinstance(function, partial) else function.__doc__),
        parameters=parameters,
        hints={item.name: item.annotation for item in parameters} | {"return": signature.return_annotation},
        module=getattr(code, "__globals__", {}),
        variables={variable.__name__: variable for variable in getattr(code, "__type_params__", ())},
    )


def _code_of(function: Any) -> Any:
    """Return the function below partials and decorators; the `__call__` of any other object."""
    while isinstance(function, partial):
        function = function.func
    has_code = hasattr(function, "__code__") or hasattr(function, "__wrapped__")
    return inspect.unwrap(function if has_code or inspect.isbuiltin(function) else type(function).__call__)
