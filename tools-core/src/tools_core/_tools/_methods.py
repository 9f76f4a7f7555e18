"""The methods of a toolset that are tools, with the options of `@tool` and of the methods that they override."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from functools import partialmethod, singledispatchmethod
from types import FunctionType
from typing import Any

from tools_core._definition._define import define
from tools_core._definition._hints._generics import binding_of_method
from tools_core._definition._spec import Spec
from tools_core._tools._function import FunctionTool
from tools_core._tools._options import SCHEMAS
from tools_core._tools._tool import Tool
from tools_core._tools._wrapped import check_hidden, is_static_below, is_tool, options_below, tool_below
from tools_core._values._errors import DefinitionError

# Options that a method does not inherit from the method that it overrides.
_NOT_INHERITED = ("description", *SCHEMAS, "read_only", "idempotent", "tags")


def read_methods(
    classes: Sequence[type], owner: str, reserved: Container[str]
) -> dict[str, tuple[Spec, dict[str, Any]]]:
    """Return the specs and options of the methods that are tools, sorted by name; derived classes come first."""
    methods: dict[str, tuple[Callable[..., Any], bool, dict[str, Any]]] = {}
    for base in reversed(classes):
        for name, value in vars(base).items():
            overridden = methods.pop(name, None)  # perhaps by something else than a method
            if name.startswith("_") or name in reserved:
                continue
            method = _read_method(value, f"{base.__module__}.{base.__qualname__}.{name}")
            if method is not None:
                function, is_bound, options = method
                inherited = overridden[2].items() if overridden else ()
                methods[name] = (function, is_bound, {k: v for k, v in inherited if k not in _NOT_INHERITED} | options)
    specs = {}
    for name, (function, is_bound, options) in sorted(methods.items()):
        schemas = {option: value for option, value in options.items() if option in SCHEMAS}
        bound = binding_of_method(classes[0], name) if is_bound else None
        specs[name] = define(function, owner=f"{owner}.{name}", bound=bound, **schemas), options
    return specs


def _read_method(value: object, owner: str) -> tuple[Callable[..., Any], bool, dict[str, Any]] | None:
    """Return the function of a method, whether it takes `self`, and its options; None for other attributes."""
    function: Any = value.__func__ if isinstance(value, staticmethod) else value
    below, options = tool_below(function), options_below(function)
    if isinstance(value, staticmethod):
        if isinstance(below, FunctionTool):  # @staticmethod over @tool
            options, function = below._options, below.__wrapped__ if is_tool(function) else function
    elif is_tool(value):
        if f"{value.__module__}.{getattr(value, '__qualname__', '')}" == owner:
            raise DefinitionError(f"{owner}: @tool needs a method with `self`, or a @staticmethod")
        return None
    elif isinstance(below, Tool) or is_static_below(value):
        raise DefinitionError(f"{owner}: @tool needs a method with `self`, or a @staticmethod above its decorators")
    elif not _is_method(value):
        if options or isinstance(value, partialmethod | singledispatchmethod):
            kind = type(value).__name__
            raise DefinitionError(f"{owner} is a {kind}, which cannot be a tool: write a function with `self`")
        return None
    check_hidden(function, options, owner)
    return function, not isinstance(value, staticmethod), {**options}


def _is_method(value: Any) -> bool:
    """Return whether a class attribute is a function, or a decorated one that becomes a bound method."""
    is_wrapper = callable(value) and hasattr(value, "__wrapped__") and hasattr(type(value), "__get__")
    return type(value) is FunctionType or (is_wrapper and not isinstance(value, type | classmethod))
