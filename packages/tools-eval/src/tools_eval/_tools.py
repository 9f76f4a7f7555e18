"""The tools to evaluate, as callers name them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from tools_core import Registry, Tool, Toolset

Source: TypeAlias = Tool | Toolset | Callable[..., Any]
Tools: TypeAlias = Mapping[str, Tool] | Iterable[Source] | Source


def tools_of(sources: Any) -> list[Tool]:
    """Return the tools of `Tools`, with those of toolsets; those of a mapping, such as a registry, have its names."""
    if isinstance(sources, Mapping):
        return [tool.renamed(name) for name, tool in sources.items()]
    tools: list[Tool] = []
    for source in sources if isinstance(sources, Iterable) else [sources]:
        registry = Registry()  # of its own, since tools of several packages may share a name
        registry.register(source)
        tools += dict(registry).values()
    return tools
