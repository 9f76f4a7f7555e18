"""The error for a name or pattern without a tool."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from tools_core._registry._patterns import matches
from tools_core._values._errors import UnknownToolError
from tools_core._values._problem import listing, show


def unknown_tool(
    name: object, tools: Iterable[str], packages: Iterable[str] | None, blocked: Iterable[str]
) -> UnknownToolError:
    """Return the error for a name, or for a pattern if there are `packages`: it names similar or blocked tools."""
    text, missing = str(name), f"no {'tool' if packages is None else 'tool or package'} {show(name)}"
    matching = [tool for tool in blocked if text == tool or _matches(text, tool)]
    if matching:
        return UnknownToolError(text, f"{missing}: an allow or deny list, or a lock, blocks {listing(matching)}")
    candidates = {candidate.lower(): candidate for candidate in [*tools, *(packages or ())]}
    if not candidates:
        return UnknownToolError(text, f"{missing}: there are no tools")
    similar = [candidates[match] for match in get_close_matches(text[:64].lower(), candidates)]
    hint = f"did you mean {listing(similar)}?" if similar else f"there are {listing(candidates.values())}"
    return UnknownToolError(text, f"{missing}; {hint}", similar)


def _matches(pattern: str, qualified: str) -> bool:
    package, _, name = qualified.rpartition(":")
    return matches(pattern, name, package)
