"""Wildcard patterns for paths: `*`, `?`, `[...]`, `{a,b}` and `**`."""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING

from tools_core import ToolError

if TYPE_CHECKING:
    from collections.abc import Callable

    # One test for each name of a path; None stands for `**`.
    Parts = list[Callable[[str], object] | None]

_MOST_ALTERNATIVES = 256
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")  # the innermost ones
WILD = frozenset("*?[]{}!\\")


class PathPattern:
    """A pattern for the paths below a folder; one without a slash may match names in every folder."""

    def __init__(self, pattern: str, *, anywhere: bool = False) -> None:
        self.alternatives = _expanded(pattern)
        if anywhere:
            self.alternatives = [one if "/" in one else f"**/{one}" for one in self.alternatives]
        self._parts = [list(map(_test, _names(one))) for one in self.alternatives]

    def matches(self, path: str) -> bool:
        """Return whether a path matches."""
        names = path.split("/")
        return any(_match(parts, names) for parts in self._parts)

    def matches_any_of(self, path: str) -> bool:
        """Return whether a path or one of its folders matches."""
        names = path.split("/")
        return any(self.matches("/".join(names[:end])) for end in range(1, len(names) + 1))

    def names_alone(self) -> list[str] | None:
        """Return the patterns for file names if the folder does not matter, else None."""
        names = [one.removeprefix("**/") for one in self.alternatives]
        is_alone = all(one.startswith("**/") and WILD.isdisjoint(name.strip("*")) and "/" not in name
                       for one, name in zip(self.alternatives, names, strict=True))  # fmt: skip
        return names if is_alone else None


def _expanded(pattern: str) -> list[str]:
    found: dict[str, None] = {}
    waiting = [pattern]
    for _ in range(8 * _MOST_ALTERNATIVES):
        if not waiting:
            return list(found)
        one = waiting.pop()
        braces = _BRACES.search(one)
        if braces is None:
            found[one] = None
        else:
            waiting += [one[: braces.start()] + inner + one[braces.end() :] for inner in braces[1].split(",")]
        if len(found) + len(waiting) > _MOST_ALTERNATIVES:
            break
    message = f"the braces stand for more than {_MOST_ALTERNATIVES} patterns; use '*', or several calls"
    raise ToolError(message, "limit_exceeded")


def _names(pattern: str) -> list[str]:
    names = [name for name in pattern.split("/") if name not in ("", ".")]
    if ".." in names:
        raise ToolError("the pattern has '..' behind a wildcard; pass the folder as path instead", "denied")
    return ["**" if name.strip("*") == "" and len(name) > 1 else name for name in names]


def _test(name: str) -> Callable[[str], object] | None:
    if name == "**":
        return None
    # fnmatch knows no backslash, and its expressions never try a star twice.
    return re.compile(fnmatch.translate(re.sub(r"\\(.)", r"[\1]", name))).match


def _match(parts: Parts, names: list[str]) -> bool:
    """Match component by component; only the last `**` is retried, which keeps the time linear."""
    at = position = 0
    again_at, again_position = -1, 0
    while position < len(names):
        test = parts[at] if at < len(parts) else None
        if at < len(parts) and test is None:
            again_at, again_position = at, position
            at += 1
        elif test is not None and test(names[position]):
            at += 1
            position += 1
        elif again_at >= 0:
            again_position += 1
            at, position = again_at + 1, again_position
        else:
            return False
    return all(part is None for part in parts[at:])
