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
from tools_core._definition._hints._generics import Binding, substituted, type_parameters
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
    local: Mapping[str, Any]  # names of the functions and the class around it, and type variables of `def f[T](...)`
    types: Mapping[Any, Any]  # in place of type variables

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
        return substituted(evaluate(self.hints[name], self.module, self.local), self.types)


def read_signature(function: Callable[..., Any], *, bound: Binding | None = None) -> Signature:
    """Read a callable, without the first parameter of a method, which is `bound` to a class."""
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
    parameters = parameters if bound is None else parameters[1:]
    _check_wrapper(function, parameters, name)
    return Signature(
        name=name,
        docstring=code.__doc__ or (None if isinstance(function, partial) else function.__doc__),
        parameters=parameters,
        hints={item.name: item.annotation for item in parameters} | {"return": signature.return_annotation},
        module=getattr(code, "__globals__", {}),
        types=bound.types if bound else {},
        local=_local_names(code) | (bound.names if bound else {}) | type_parameters(code),
    )


def _code_of(function: Any) -> Any:
    """Return the function below partials and decorators; the `__call__` of any other object."""
    while isinstance(function, partial):
        function = function.func
    has_code = hasattr(function, "__code__") or hasattr(function, "__wrapped__")
    return inspect.unwrap(function if has_code or inspect.isbuiltin(function) else type(function).__call__)


def _check_wrapper(function: Any, parameters: list[inspect.Parameter], name: str) -> None:
    """Refuse a wrapper that cannot be called with the parameters of the function below it, by name."""
    code = getattr(function, "__code__", None)
    if code and code.co_name == "helper" and function.__globals__.get("__name__") == "contextlib":
        raise DefinitionError(f"{name} is a context manager, and not a tool: a call has no `with`")
    if hasattr(function, "dispatch") and hasattr(function, "registry"):
        raise DefinitionError(
            f"{name} is a singledispatch function, which needs a positional argument, and arguments are passed by "
            "name; write a function whose parameter is a union of the types"
        )
    if hasattr(function, "cache_info") and inspect.iscoroutinefunction(function.__wrapped__):
        raise DefinitionError(f"{name}: a cache of coroutines works once, since each can be awaited once; remove it")
    if not hasattr(function, "__wrapped__") or hasattr(function, "__signature__") or not code:
        return
    own = inspect.signature(function, follow_wrapped=False, **_FORMAT).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in own.values()):
        return
    for parameter in parameters:
        if parameter.name not in own and parameter.kind not in _VARIADIC:
            raise DefinitionError(
                f"{name}: its decorator does not take the parameter `{parameter.name}` of the function; "
                "add **kwargs to the decorator, or set its __signature__"
            )


def _local_names(function: Any) -> dict[str, Any]:
    """Return the variables of the functions that are running around a definition, for hints that are text."""
    names: dict[str, Any] = {}
    frame = sys._getframe() if "<locals>" in getattr(function, "__qualname__", "") else None
    while frame is not None:
        is_around = function.__qualname__.startswith(f"{frame.f_code.co_qualname}.<locals>.")
        if is_around and frame.f_globals is function.__globals__:
            names = {**frame.f_locals, **names}
        frame = frame.f_back
    return names
