"""Which discovered tools are let in: allow and deny lists, the lock, and names that only look like others."""

from __future__ import annotations

import os
import re

from tools_core._definition._naming import NAME_PATTERN
from tools_core._registry._entry_points import normalize
from tools_core._registry._package import LoadProblem

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tools_core._registry._entry_points import EntryPoint
    from tools_core._registry._lock_file import Lock

_legal_name = re.compile(NAME_PATTERN).fullmatch
_legal_distribution = re.compile("[a-z0-9](?:[a-z0-9-]*[a-z0-9])?").fullmatch


class Selection:
    """Names of tools, given as names or wildcard patterns; one string is one of them, not its letters."""

    def __init__(self, given: Iterable[str]) -> None:
        self._patterns = (given,) if isinstance(given, str) else tuple(given)

    def __contains__(self, name: str) -> bool:
        from fnmatch import fnmatchcase  # for patterns alone

        return any(fnmatchcase(name, pattern) for pattern in self._patterns)

    def may_begin(self, start: str) -> bool:
        """Return whether a name that begins with `start` may be selected."""
        for pattern in self._patterns:
            end = min((pattern.find(char) for char in "*?[" if char in pattern), default=None)
            if pattern.startswith(start) or (end is not None and start.startswith(pattern[:end])):
                return True
        return False


class Admission:
    """An allow and a deny list, and a lock; without an allow list everything is allowed, and what is denied stays so.

    The environment variables stand in for the arguments: a set but empty `ASK_TOOLS_ALLOW` allows nothing.
    """

    __slots__ = ("_allowed", "_denied", "_lock")

    def __init__(
        self, allow: Iterable[str] | None = None, deny: Iterable[str] | None = None, lock: Lock | None = None
    ) -> None:
        self._allowed = _patterns(allow, "ASK_TOOLS_ALLOW")
        self._denied = _patterns(deny, "ASK_TOOLS_DENY") or ()
        self._lock = lock

    def refuses(self, point: EntryPoint) -> bool:
        """Return whether the entry point is not to be imported."""
        if self._lock is not None and not self._lock.trusts(point):
            return True
        if self._allowed is not None and not _matches(point.distribution, point.name, self._allowed):
            return True
        return self.denies(point.distribution, point.name)

    @property
    def words(self) -> str:
        """Who keeps out, in words: `an allow or deny list blocks`."""
        return "an allow or deny list blocks" if self._lock is None else "an allow or deny list, or the lock, blocks"

    def locked(self, point: EntryPoint) -> Mapping[str, str] | None:
        """The hashes that its tools must have, by name; None without a lock."""
        return None if self._lock is None else self._lock.hashes(point)

    def denies(self, distribution: str, name: str) -> bool:
        """Return whether the deny list has a tool, maybe one that only the loaded toolset showed."""
        return bool(self._denied) and _matches(distribution, name, self._denied)


def illegal(point: EntryPoint) -> LoadProblem | None:
    """The problem of a name that no provider accepts, or that only looks like another one."""
    if _legal_name(point.name) and _legal_distribution(point.distribution):
        return None
    error = f"{point.name!a} of {point.distribution!a} is not a legal name: letters A-Z and a-z, digits, _ and -"
    fix = f"pip uninstall {point.distribution}, or report it to its authors"
    return LoadProblem.of(point, error, fix)


def _patterns(given: Iterable[str] | None, variable: str) -> tuple[str, ...] | None:
    if given is None:
        given = os.environ.get(variable)
    if given is None:
        return None
    parts = given.split(",") if isinstance(given, str) else given
    return tuple(part.strip() for part in parts if part.strip())


def _matches(distribution: str, name: str, patterns: Iterable[str]) -> bool:
    from fnmatch import fnmatchcase  # for allow and deny lists alone

    for pattern in patterns:
        wanted, colon, bare = pattern.rpartition(":")
        if colon:
            if fnmatchcase(distribution, normalize(wanted)) and fnmatchcase(name, bare):
                return True
        elif fnmatchcase(distribution, normalize(bare)) or fnmatchcase(name, bare):
            return True
    return False
