"""The tools that an object stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from tools_core._tools._function import FunctionTool
from tools_core._tools._tool import Tool
from tools_core._tools._toolset import Toolset
from tools_core._values._errors import DefinitionError

if TYPE_CHECKING:
    T = TypeVar("T")


def as_tools(value: Any) -> list[Tool]:
    """Read a Tool class or instance, a function, a Toolset or one of its methods as tools.

    So is any object whose `tools` is a tuple of tools.

    Raises DefinitionError for anything else, and for a class that cannot be made without arguments.
    """
    if isinstance(value, Tool):
        return [value]
    if isinstance(value, type) and issubclass(value, Tool | Toolset):
        return as_tools(instance_of(value))
    if isinstance(value, Toolset):
        return list(value.tools)
    tools = getattr(value, "tools", None)
    if isinstance(tools, tuple) and all(isinstance(each, Tool) for each in tools):
        return list(tools)
    owner = getattr(value, "__self__", None)
    if isinstance(owner, Toolset):
        return [owner.tool(value.__name__)]
    if callable(value) and not isinstance(value, type):
        return [FunctionTool(value)]
    raise DefinitionError(f"{value!r} is not a tool: give a Tool, a function made with @tool, or a Toolset")


def instance_of(cls: type[T]) -> T:
    """Make a tool or toolset of its class; DefinitionError if that takes arguments."""
    try:
        return cls()
    except TypeError as error:
        raise DefinitionError(
            f"{cls.__qualname__} cannot be made without arguments ({error}); register an instance"
        ) from error
