"""The tool that an object stands for."""

from __future__ import annotations

from typing import Any

from tools_core import Registry, Tool, Toolset


def one_tool(tool: Any) -> Tool:
    """Return the tool of a Tool, its class or a function; TypeError for a toolset, which has several."""
    if isinstance(tool, Toolset) or (isinstance(tool, type) and issubclass(tool, Toolset)):
        raise TypeError(f"{tool!r} has several tools: pass one of its .tools")
    registry = Registry()
    registry.register(tool)
    (found,) = registry.values()
    return found
