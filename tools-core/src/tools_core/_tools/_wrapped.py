"""The tool below decorators, partials and bound methods, whose options the outer function keeps."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from functools import partial, update_wrapper
from types import FunctionType
from typing import Any

from tools_core._tools._tool import Tool
from tools_core._values._errors import DefinitionError

# Attributes in which wrappers keep what they wrap: of functools.wraps, methods, partials, and properties.
_LINKS = ("__func__", "__wrapped__", "func", "fget")  # a method forwards the others
_MAX_LAYERS = 50  # an object may invent attributes without end
_BODIES = ("execute", "call", "acall", "__call__")


class Body(partial[Any]):
    """The function of a tool as its `execute`, which knows the tool as a bound method knows its object."""

    tool: Tool

    @classmethod
    def of(cls, tool: Tool, function: Any) -> Body:
        """Return the function of a tool, with its name and hints."""
        body = cls(function)
        update_wrapper(body, function)
        body.tool = tool
        return body


def is_tool(value: object) -> bool:
    """Return whether a value is a tool itself; transparent proxies claim to be what they wrap."""
    return issubclass(type(value), Tool)


def tool_below(function: Any) -> Any:
    """Return the tool, or the tool class, that a callable leads to; None for a plain function."""
    return next((layer for layer in _layers(function) if _is_end(layer)), None)


def tool_of_method(value: Any) -> Tool | None:
    """Return the tool that this method of a tool or of a toolset runs; None for any other object."""
    if type(value) is Body:
        return value.tool
    owner, name = _get(value, "__self__"), _get(value, "__name__")
    if is_tool(owner):
        return owner if name in _BODIES else None
    methods = getattr(type(owner), "_methods", None)  # of a toolset
    return owner.tool(name) if isinstance(methods, dict) and name in methods else None


def options_below(function: Any) -> Mapping[str, Any]:
    """Return the options that `@tool` set on a method below a callable."""
    candidates = (_get(layer, "__tool_options__") for layer in _layers(function))
    return next((options for options in candidates if isinstance(options, Mapping)), {})


def is_static_below(function: Any) -> bool:
    """Return whether a callable wraps a static method, which takes no `self`."""
    return any(type(layer) is staticmethod for layer in _layers(function))


def check_hidden(function: Any, options: Iterable[str], owner: str) -> None:
    """Refuse a wrapper that hides a tool with `requires_approval`, unless its own options decide about approval."""
    if "requires_approval" in options:
        return
    for value in (value for layer in _layers(function) for value in _held(layer)):
        tool = tool_below(value)
        needs_approval = tool.requires_approval if is_tool(tool) else options_below(value).get("requires_approval")
        if needs_approval:
            name = tool.name if is_tool(tool) else getattr(value, "__name__", "a method")
            raise DefinitionError(
                f"{owner} calls the tool `{name}`, which requires approval, and would lose that: put @tool above its "
                "decorator, or use functools.wraps there, or set requires_approval here"
            )


def _layers(function: Any) -> Iterator[Any]:
    """Yield a callable and the callables below it, from the outside to the inside."""
    for _ in range(_MAX_LAYERS):
        yield function
        if _is_end(function):
            return
        if (tool := tool_of_method(function)) is not None:
            function = tool
            continue
        below = next((below for link in _LINKS if (below := _get(function, link)) is not None), None)
        if below is None and not inspect.isroutine(function) and not isinstance(function, type):
            below = _get(type(function), "__call__")  # the method of an object
        if below is None:
            return
        function = below


def _is_end(layer: Any) -> bool:
    return is_tool(layer) or (isinstance(layer, type) and issubclass(layer, Tool))


def _held(layer: Any) -> Iterator[Any]:
    """Yield what a wrapper holds: the variables of its closure, the arguments of a partial, or its attributes."""
    if isinstance(layer, FunctionType):
        for cell in layer.__closure__ or ():
            try:
                value = cell.cell_contents
            except ValueError:  # not assigned yet
                continue
            if callable(value) and not isinstance(value, type):
                yield value
    elif isinstance(layer, partial):
        yield from filter(callable, (*layer.args, *layer.keywords.values()))
    elif not inspect.isroutine(layer) and not _is_end(layer) and not isinstance(layer, type):
        attributes = _get(layer, "__dict__")
        yield from filter(callable, attributes.values() if isinstance(attributes, dict) else ())


def _get(value: Any, name: str) -> Any:
    """Return an attribute, or None; a proxy may raise anything if it is used too early."""
    try:
        return getattr(value, name, None)
    except Exception:  # noqa: BLE001
        return None
