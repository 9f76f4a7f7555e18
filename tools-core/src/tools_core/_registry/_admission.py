"""The installed tools that may be used: allow and deny lists, and the lock."""

from __future__ import annotations

import os
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from tools_core._registry._entry_points import EntryPoint
from tools_core._registry._patterns import matches, split_patterns

if TYPE_CHECKING:
    from tools_core._registry._lock_file import Lock


class Admission:
    """Decides which entry points may be imported.

    `allow` and `deny` default to `ASK_TOOLS_ALLOW` and `ASK_TOOLS_DENY`. Without an allow list every tool is allowed;
    an empty one allows none.
    """

    def __init__(self, allow: Iterable[str] | None, deny: Iterable[str] | None, lock: Lock | None) -> None:
        self._allow = _patterns(allow, "ASK_TOOLS_ALLOW")
        self._deny = _patterns(deny, "ASK_TOOLS_DENY") or []
        self._lock = lock

    def admits(self, point: EntryPoint) -> bool:
        """Return whether an entry point may be imported."""
        if self._lock is not None and self._lock.digest(point) is None:
            return False
        is_allowed = self._allow is None or _is_listed(point, self._allow)
        return is_allowed and not _is_listed(point, self._deny)

    def admits_source(self, source: EntryPoint) -> bool:
        """Return whether a source may be imported: if the allow list and the lock can have a tool of it."""
        if self._lock is not None and not any(name.startswith(f"{source.name}:") for name in self._lock.tools):
            return False
        if self._allow is not None and not any(_can_select_from(source, pattern) for pattern in self._allow):
            return False
        return not _is_listed(source, self._deny)

    def digest(self, point: EntryPoint) -> str | None:
        """Return the hash that the definition of its tool must have; None without a lock."""
        return None if self._lock is None else self._lock.digest(point)


def _patterns(patterns: Iterable[str] | None, variable: str) -> list[str] | None:
    if patterns is not None:
        return split_patterns(patterns)
    text = os.environ.get(variable)
    return None if text is None else split_patterns(text) if text.strip(", ") else []


def _is_listed(point: EntryPoint, patterns: Iterable[str]) -> bool:
    return any(matches(pattern, point.name, point.distribution) for pattern in patterns)


def _can_select_from(source: EntryPoint, pattern: str) -> bool:
    """Return whether a pattern can select a tool of a source, whose packages are `SOURCE:ORIGIN`."""
    first, colon, _ = pattern.partition(":")
    return first in ("*", source.name) or (colon == ":" and fnmatchcase(source.name, first))
