"""The tools that an object stands for."""

from __future__ import annotations

from tools_core._tools._function import FunctionTool
from tools_core._tools._tool import Tool
from tools_core._tools._toolset import Toolset
from tools_core._values._errors import DefinitionError

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from typing import Any


def as_tools(value: Any) -> list[Tool]:
    """Read a Tool class or instance, a function, a Toolset or one of its methods as tools.

    Raises DefinitionError for anything else, and for a class that cannot be made without arguments.
    """
    if isinstance(value, Tool):
        return [value]
    if isinstance(value, type) and issubclass(value, Tool | Toolset):
        try:
            made = value()
        except TypeError as error:
            raise DefinitionError(
                f"{value.__qualname__} cannot be made without arguments ({error}); register an instance"
            ) from error
        return as_tools(made)
    if isinstance(value, Toolset):
        return list(value.tools)
    owner = getattr(value, "__self__", None)
    if isinstance(owner, Toolset):
        return [owner.tool(value.__name__)]
    if callable(value) and not isinstance(value, type):
        return [FunctionTool(value)]
    raise DefinitionError(f"{value!r} is not a tool: give a Tool, a function made with @tool, or a Toolset")
