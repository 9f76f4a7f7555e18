"""The installed tools that may be used: allow and deny lists, and the lock."""

from __future__ import annotations

import os

from tools_core._registry._entry_points import normalize

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Iterable

    from tools_core._registry._entry_points import EntryPoint
    from tools_core._registry._lock_file import Lock


class Admission:
    """Decides which entry points may be imported.

    `allow` and `deny` default to `ASK_TOOLS_ALLOW` and `ASK_TOOLS_DENY`. Without an allow list every tool is allowed;
    an empty one allows none.
    """

    def __init__(self, allow: Iterable[str] | None, deny: Iterable[str] | None, lock: Lock | None) -> None:
        self._allow = _or_environment(allow, "ASK_TOOLS_ALLOW")
        self._deny = _or_environment(deny, "ASK_TOOLS_DENY") or ()
        self._lock = lock

    def admits(self, point: EntryPoint) -> bool:
        """Return whether an entry point may be imported."""
        if self._lock is not None and self._lock.digest(point) is None:
            return False
        is_allowed = self._allow is None or _matches_point(point, self._allow)
        return is_allowed and not _matches_point(point, self._deny)

    def admits_source(self, source: EntryPoint) -> bool:
        """Return whether a source may be imported: not unless the allow list and the lock have it, or a tool of it."""
        prefix = f"{source.name}:"
        if self._lock is not None and not any(name.startswith(prefix) for name in self._lock.tools):
            return False
        is_allowed = self._allow is None or any(each.startswith(prefix) for each in self._allow)
        return (is_allowed or _matches_point(source, self._allow or ())) and not _matches_point(source, self._deny)

    def digest(self, point: EntryPoint) -> str | None:
        """Return the hash that the definition of its tool must have; None without a lock."""
        return None if self._lock is None else self._lock.digest(point)


def as_patterns(given: Iterable[str]) -> tuple[str, ...]:
    """Return wildcard patterns from a list, or from one string with commas between them."""
    parts = given.split(",") if isinstance(given, str) else given
    return tuple(part.strip() for part in parts if part.strip())


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Return whether a name matches one of the patterns."""
    from fnmatch import fnmatchcase  # only for patterns

    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _or_environment(given: Iterable[str] | None, variable: str) -> tuple[str, ...] | None:
    given = os.environ.get(variable) if given is None else given
    return None if given is None else as_patterns(given)


def _matches_point(point: EntryPoint, patterns: Iterable[str]) -> bool:
    """Return whether one of the patterns is for the distribution, the name, or `distribution:name`."""
    for pattern in patterns:
        if matches(point.distribution, [normalize(pattern)]):  # which has a colon if the tool is of a source
            return True
        distribution, colon, name = pattern.rpartition(":")
        if colon and matches(point.distribution, [normalize(distribution)]) and matches(point.name, [name]):
            return True
        if not colon and matches(point.name, [pattern]):
            return True
    return False
