"""`ask-tools list --details`: what only the tools themselves can say."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tools_core._cli._facts import effect, first_line, signature, tokens
from tools_core._cli._installed import place, prints_aside
from tools_core._registry._entry_points import normalize
from tools_core._values._errors import ToolError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator

    from tools_core._registry._registry import Registry
    from tools_core._tools._tool import Tool


def detailed(registry: Registry, options: Namespace) -> Iterator[dict[str, Any]]:
    """The rows of `list` for loaded tools, filtered by what they say of themselves."""
    packages = frozenset(map(normalize, options.package))
    for name, tool in _loaded(registry, packages).items():
        point = registry.origin(name)
        is_wanted = not options.read_only or tool.read_only
        if point is None or not is_wanted or not _has_tag(tool.tags, options.tag):
            continue
        row: dict[str, Any] = {"name": name, **place(point), "summary": first_line(tool)}
        if options.details:
            definition = tool.definition
            row |= {
                "effect": effect(tool.annotations),
                "tokens": tokens(definition),
                "parameters": signature(definition["input_schema"]),
                "requires_approval": tool.requires_approval,
                "tags": list(tool.tags),
            }
        yield row


def _loaded(registry: Registry, packages: frozenset[str]) -> dict[str, Tool]:
    """The tools of these packages, or of all; no other package is imported."""
    found: dict[str, Tool] = {}
    with prints_aside():
        for _ in range(2):  # the names that toolsets have are known once they are loaded
            for name in registry:
                point = registry.origin(name)
                if packages and (point is None or point.distribution not in packages):
                    continue
                with suppress(ToolError):  # does not load, and is among the problems
                    tool = registry.get(name)
                    if tool is not None:
                        found[name] = tool
    return {name: found[name] for name in registry if name in found}


def _has_tag(tags: Iterable[str], wanted: list[str]) -> bool:
    return not wanted or not frozenset(wanted).isdisjoint(tags)
