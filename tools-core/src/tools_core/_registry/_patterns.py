"""Patterns that select tools: `get_*`, `tools-weather`, `tools-weather:get_*`, `mcp:github:*`; see docs/registry.md."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

from tools_core._values._errors import UnknownToolError
from tools_core._values._problem import listing, show
from tools_core.text import closest

_separators = re.compile("[-_.]+")


def split_patterns(patterns: Iterable[str] | str) -> list[str]:
    """Split a string with commas, or each string of a list, into patterns.

    Raises: ValueError for a string without a pattern.
    """
    result: list[str] = []
    for text in [patterns] if isinstance(patterns, str) else patterns:
        parts = [part.strip() for part in text.split(",") if part.strip()]
        if not parts:
            raise ValueError(f"empty pattern {text!r}; use the name of a tool or package, or a wildcard (`get_*`)")
        result += parts
    return result


def matches(patterns: Iterable[str], qualified: str, name: str = "") -> bool:
    """Return whether one of the patterns selects the tool `package:name`, or `name` for a tool without a package.

    The `name` in the registry, if it is another one, counts for patterns without a package.
    """
    package, _, qualified_name = qualified.rpartition(":")
    return any(_matches(pattern, qualified_name, package, name or qualified_name) for pattern in patterns)


def _matches(pattern: str, qualified_name: str, package: str, name: str) -> bool:
    if package and f"{package}:".startswith(f"{normalize(pattern)}:"):
        return True
    package_pattern, colon, name_pattern = pattern.rpartition(":")
    if not colon:
        return fnmatchcase(name, pattern)
    full_pattern = f"{normalize(package_pattern)}:{name_pattern}"
    return package != "" and any(fnmatchcase(f"{package}:{text}", full_pattern) for text in {qualified_name, name})


def normalize(package: str) -> str:
    """Return the normalized name of a package (PEP 503): `tools-weather` for `Tools_Weather`."""
    return _separators.sub("-", package).lower()


def unknown_tool(
    name: object, tools: Iterable[str], packages: Iterable[str] | None, blocked: Iterable[str]
) -> UnknownToolError:
    """Return the error for a name, or for a pattern if there are `packages`: it names similar or blocked tools."""
    text, missing = str(name), f"no {'tool' if packages is None else 'tool or package'} {show(name)}"
    matching = [tool for tool in blocked if matches([text], tool)]
    if matching:
        return UnknownToolError(text, f"{missing}: an allow or deny list, or a lock, blocks {listing(matching)}")
    candidates = [*tools, *(packages or ())]
    if not candidates:
        return UnknownToolError(text, f"{missing}: there are no tools")
    similar = closest(text, candidates)
    hint = f"did you mean {listing(similar)}?" if similar else f"there are {listing(candidates)}"
    return UnknownToolError(text, f"{missing}; {hint}", similar)
