"""`Admission`: which entry points may be imported, by the allow list, the deny list and the lock."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

from tools_core._registry._entry_points import EntryPoint, distributions
from tools_core._registry._lock_file import Lock, read
from tools_core._registry._patterns import matches, normalize, split_patterns

TOOLS = "ask_tools.tools"
SOURCES = "ask_tools.sources"
PLUGINS = "ask_tools.plugins"
_EXTENSIONS = ("ask_tools.call", "ask_tools.commands", PLUGINS, "ask_tools.score", SOURCES)

# `NAME`, `PACKAGE:NAME`, and `SOURCE:ORIGIN:NAME`, whose last part has the characters that a server allows.
_WELL_FORMED = re.compile(r"[\w.*?\[\]!-]+(:[\w.*?\[\]!-]+(:[^\s:;,'\"`|]+)?)?").fullmatch
_NEGATION = re.compile(r"(?<!\[)!").search


class _List(NamedTuple):
    """An allow or deny list, and its name in messages."""

    name: str
    patterns: list[str]


class Admission:
    """Decides which entry points may be imported.

    `allow` and `deny` default to `ASK_TOOLS_ALLOW` and `ASK_TOOLS_DENY`. Without an allow list every tool is allowed;
    an empty one allows none. Raises ValueError for a malformed pattern.
    """

    def __init__(self, allow: Iterable[str] | None, deny: Iterable[str] | None, lock: Lock | None) -> None:
        self._allow = _list("allow", allow)
        self._deny = _list("deny", deny) or _List("deny", [])
        self.lock = lock

    def admits(self, point: EntryPoint, group: str = TOOLS) -> bool:
        """Return whether an entry point of a group may be imported.

        The allow list and bare names in the deny list are about tools and plugins. A lock has the definitions of tools;
        of other groups it has the distributions.
        """
        has_tools = group == TOOLS or not group.startswith("ask_tools.")
        if self.lock is not None and not self._locks(point, has_tools=has_tools):
            return False
        if has_tools or group == PLUGINS:
            is_allowed = self._allow is None or matches(self._allow.patterns, point.qualified, point.name)
            return is_allowed and not self.denies(point)
        return not any(_names_package(pattern, point) for pattern in self._deny.patterns)

    def _locks(self, point: EntryPoint, *, has_tools: bool) -> bool:
        assert self.lock is not None  # noqa: S101  # else everything is admitted
        return self.lock.digest(point) is not None if has_tools else point.distribution in self.lock.distributions

    def denies(self, point: EntryPoint) -> bool:
        """Return whether a pattern of the deny list matches a tool, also by its name at a server."""
        names = (point.name, point.remote)
        return any(matches(self._deny.patterns, point.qualified, name) for name in names)

    def admits_source(self, source: EntryPoint) -> bool:
        """Return whether a source may be imported: if the allow list and the lock can have a tool of it."""
        if self.lock is not None:
            has_tools = any(name.startswith(f"{source.name}:") for name in self.lock.tools)
            if not has_tools or source.distribution not in self.lock.distributions:
                return False
        packages = None if self._allow is None else [pattern.partition(":")[0] for pattern in self._allow.patterns]
        is_allowed = packages is None or any(fnmatchcase(source.name, package) for package in packages)
        return is_allowed and not self.denies(source)

    def unmatched(self, points: Iterable[EntryPoint], packages: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield the list and the pattern for each pattern that matches no tool, and no package of any group.

        `packages` are servers and sources whose tools are not known.
        """
        points, packages = list(points), list(packages)
        for kind in filter(None, (self._allow, self._deny)):
            for pattern in kind.patterns:
                is_matched = any(_may_match(pattern, package) for package in packages) or any(
                    matches([pattern], point.qualified, name) for point in points for name in (point.name, point.remote)
                )
                if not (is_matched or pattern == "*"):
                    yield kind.name, pattern


def extensions(group: str) -> tuple[list[EntryPoint], list[EntryPoint]]:
    """Return the entry points of a group that may be imported, and the blocked ones.

    Raises: ValueError for a malformed list, or a lock that cannot be read.
    """
    path = os.environ.get("ASK_TOOLS_LOCK")
    admission = Admission(None, None, None if path is None else read(path))
    points = [point for distribution in distributions() for point in distribution.entry_points(group)]
    points.sort(key=lambda point: (point.distribution, point.name))
    admitted = [point for point in points if admission.admits(point, group)]
    return admitted, [point for point in points if point not in admitted]


def packages_of_extensions() -> dict[str, str]:
    """Return the versions of the distributions with commands, plugins, policies, scores or sources that may be used."""
    admission = Admission(None, None, None)
    return {
        distribution.name: distribution.version
        for distribution in distributions()
        for group in _EXTENSIONS
        if any(admission.admits(point, group) for point in distribution.entry_points(group))
    }


def _list(name: str, patterns: Iterable[str] | None) -> _List | None:
    """Read a list, by default that of the environment; ValueError for a malformed pattern."""
    if patterns is None:
        name = f"ASK_TOOLS_{name.upper()}"
        text = os.environ.get(name)
        if text is None:
            return None
        patterns = text if text.strip(", ") else []
    try:
        return _List(name, [_checked(pattern) for pattern in split_patterns(patterns)])
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _checked(pattern: str) -> str:
    """Return a pattern that can match a tool or a package; ValueError with the reason for any other text."""
    if _WELL_FORMED(pattern) and not _NEGATION(pattern) and pattern.count("[") == pattern.count("]"):
        return pattern
    if re.search(r"[\s;|]", pattern):
        fix = "separate patterns with commas"
    elif re.search("['\"`]", pattern):
        fix = "remove the quotes"
    elif pattern.endswith(":"):
        fix = f"write {pattern.rstrip(':')} or {pattern.rstrip(':')}:*"
    elif "/" in pattern:
        fix = f"write {pattern.replace('/', ':', 1)}"
    else:
        fix = "write NAME, PACKAGE, PACKAGE:NAME or a wildcard such as get_*"
    raise ValueError(f"malformed pattern {pattern!r}; {fix}")


def _may_match(pattern: str, package: str) -> bool:
    """Return whether a pattern may match a tool of a package whose tools are not known."""
    parts = pattern.split(":")
    heads = [":".join(parts[:end]) for end in range(1, len(parts) + 1)]
    return f"{package}:".startswith(f"{normalize(pattern)}:") or any(
        fnmatchcase(package, normalize(head)) for head in heads
    )


def _names_package(pattern: str, point: EntryPoint) -> bool:
    """Return whether a pattern is about the package of an entry point, and not only about a name."""
    is_about_packages = ":" in pattern or normalize(pattern) == point.distribution
    return is_about_packages and matches([pattern], point.qualified, point.name)
