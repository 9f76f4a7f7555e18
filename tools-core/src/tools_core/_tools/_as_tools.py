"""The tools that an object stands for."""

from __future__ import annotations

from typing import Any, TypeVar

from tools_core._tools._function import FunctionTool
from tools_core._tools._tool import Tool
from tools_core._tools._toolset import Toolset
from tools_core._values._errors import DefinitionError

T = TypeVar("T")


def as_tools(value: Any) -> list[Tool]:
    """Return the tools of a Tool class or instance, a function, a Toolset, or a method of a Toolset.

    Objects with a tuple of tools as their `tools` count as toolsets.

    Raises:
        DefinitionError: The value is something else, or a class whose constructor needs arguments.
    """
    if isinstance(value, Tool):
        return [value]
    if isinstance(value, type) and issubclass(value, Tool | Toolset):
        return as_tools(instance_of(value))
    if isinstance(value, Toolset):
        return list(value.tools)
    tools = getattr(value, "tools", None)
    if isinstance(tools, tuple) and all(isinstance(item, Tool) for item in tools):
        return list(tools)
    owner = getattr(value, "__self__", None)
    if isinstance(owner, Toolset):
        return [owner.tool(value.__name__)]
    if isinstance(value, list | tuple | set | dict):
        raise DefinitionError(f"{type(value).__name__} is not a tool; register each of its items")
    if callable(value) and not isinstance(value, type):
        return [FunctionTool(value)]
    raise DefinitionError(f"{value!r} is not a tool; pass a Tool, a function or a Toolset")


def instance_of(cls: type[T]) -> T:
    """Return an instance of a tool or toolset class; DefinitionError if its constructor needs arguments."""
    try:
        return cls()
    except TypeError as error:
        raise DefinitionError(f"{cls.__qualname__} needs arguments ({error}); register an instance") from error
