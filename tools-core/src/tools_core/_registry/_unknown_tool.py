"""The error for a name that no tool has."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from tools_core._values._errors import UnknownToolError
from tools_core._values._problem import listing, show

if TYPE_CHECKING:
    from collections.abc import Sequence


def unknown_tool(name: object, known: Sequence[str], blocked: Sequence[str]) -> UnknownToolError:
    """Return the error for a name without a tool, with the closest names, or why tools of that name are blocked."""
    blocked = [each for each in blocked if name in (each, each.partition(":")[2])]
    if blocked:
        reason = f"an allow or deny list, or a lock, blocks {listing(blocked)}"
        return UnknownToolError(str(name), f"no tool {show(name)}: {reason}")
    if not known:
        return UnknownToolError(str(name), f"no tool {show(name)}: there are no tools")
    lower = {each.lower(): each for each in known}
    near = [lower[each] for each in get_close_matches(str(name)[:64].lower(), lower)]
    hint = f"did you mean {listing(near)}?" if near else f"there are {listing(known)}"
    return UnknownToolError(str(name), f"no tool {show(name)}; {hint}", near)
