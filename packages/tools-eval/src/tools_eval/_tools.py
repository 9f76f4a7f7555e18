"""The tools to evaluate, as callers name them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tools_core import Registry, Tool, Tools


def tools_of(tools: Tools) -> list[Tool]:
    """Return tools; several may have one name, as two packages may use the same."""
    sources = tools if isinstance(tools, Iterable) and not isinstance(tools, Mapping) else [tools]
    return [tool for source in sources for tool in Registry(source).all()]
