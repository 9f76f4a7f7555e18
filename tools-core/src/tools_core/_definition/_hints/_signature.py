"""`Signature`: the parameters of a callable, their defaults and hints, and its docstring."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from types import FunctionType
from typing import Any, Final

from tools_core._definition._hints._annotations import evaluate
from tools_core._values._errors import DefinitionError

MISSING: Final[Any] = inspect.Parameter.empty
# Python 3.14 evaluates annotations when they are read. This format leaves undefined names as forward references.
_FORMAT: dict[str, Any] = {}
if sys.version_info >= (3, 14):
    _FORMAT["annotation_format"] = import_module("annotationlib").Format.FORWARDREF


@dataclass(kw_only=True)
class Signature:
    """A callable as `define` reads it."""

    name: str
    docstring: str | None
    module: Mapping[str, Any]  # the names that hints may use
    hints: Mapping[str, Any]  # MISSING for a parameter without one
    defaults: Mapping[str, Any]  # every parameter in its order; MISSING if it has no default
    bound: str | None  # the name of `self`
    positional_only: list[str]
    star: str | None  # the name of *args
    keywords: str | None  # the name of **kwargs

    def hint(self, name: str) -> Any:
        """Return the evaluated hint of a parameter, MISSING if it has none; raises Unsupported."""
        return evaluate(self.hints[name], self.module, {})


def read_signature(function: Callable[..., Any], *, bound: bool = False) -> Signature:
    """Read a callable; `bound` leaves out the first parameter, which is `self`."""
    innermost = _unwrap(function)
    name = str(getattr(innermost, "__qualname__", None) or type(innermost).__qualname__).rpartition("<locals>.")[2]
    try:
        signature = inspect.signature(function, **_FORMAT)
    except (TypeError, ValueError, NameError) as error:
        reason = "its parameters cannot be read; write a function with type hints around it"
        raise DefinitionError(f"{name}: {reason}") from error
    # Models neither see nor override the arguments of a partial.
    fixed = function.keywords if isinstance(function, partial) else {}
    parameters = [parameter for parameter in signature.parameters.values() if parameter.name not in fixed]
    bound_name = parameters.pop(0).name if bound and parameters else None
    names: dict[Any, list[str]] = {}
    for parameter in parameters:
        names.setdefault(parameter.kind, []).append(parameter.name)
    kinds = inspect.Parameter
    docstring = innermost.__doc__
    if not docstring and not isinstance(function, partial):
        docstring = function.__doc__
    return Signature(
        name=name,
        docstring=docstring,
        module=getattr(innermost, "__globals__", {}),
        hints={
            "return": signature.return_annotation,
            **{parameter.name: parameter.annotation for parameter in parameters},
        },
        defaults={
            parameter.name: parameter.default
            for parameter in parameters
            if parameter.kind not in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)
        },
        bound=bound_name,
        positional_only=names.get(kinds.POSITIONAL_ONLY, []),
        star=names.get(kinds.VAR_POSITIONAL, [None])[0],
        keywords=names.get(kinds.VAR_KEYWORD, [None])[0],
    )


def _unwrap(function: Any) -> Any:
    """Return the function below partials, decorators and callable objects."""
    while True:
        inner = function.func if isinstance(function, partial) else _wrapped(function)
        if inner is None:
            return function
        function = inner


def _wrapped(function: Any) -> Any:
    for name in ("__wrapped__", "__func__"):
        if name in getattr(function, "__dict__", ()) or hasattr(type(function), name):
            return getattr(function, name)
    call = vars(type(function)).get("__call__")
    return call if isinstance(call, FunctionType) else None
