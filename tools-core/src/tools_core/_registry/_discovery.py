"""Discovery: the installed tools that may be used, and the tools of sources such as MCP servers.

The group `ask_tools.sources` has tools that a package finds elsewhere. An entry point `mcp = "tools_mcp:source"` names
a function without arguments, which starts no program. It returns objects that are equal if nothing has changed. Their
attributes are `origin`, the part of the source that has the tool, such as a server, and its `version`; `remote`, the
name of the tool at the origin; `name`, its name here, which no other tool may change: `ORIGIN_REMOTE`; `value`, what
runs when the tool is called; `folder`, the file that lists it; `fix`, how to repair it; `load()`, which makes the tool;
and `error`, which is not empty if the origin cannot be used.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from tools_core._registry._entry import Entry, LoadProblem
from tools_core._registry._entry_points import EntryPoint, distributions, installed_packages_first
from tools_core._registry._lock_file import Lock
from tools_core._registry._patterns import matches, normalize, split_patterns
from tools_core._tools._options import NAME_PATTERN
from tools_core._tools._tool import Tool

GROUP = "ask_tools.tools"
SOURCES = "ask_tools.sources"

_is_legal_name = re.compile(NAME_PATTERN).fullmatch


@dataclass(slots=True)
class Discovery:
    """The tools that may be used, the qualified names of blocked tools, and the problems of packages."""

    entries: list[Entry] = field(default_factory=list)
    blocked: set[str] = field(default_factory=set)
    problems: list[LoadProblem] = field(default_factory=list)


class Admission:
    """Decides which entry points may be imported.

    `allow` and `deny` default to `ASK_TOOLS_ALLOW` and `ASK_TOOLS_DENY`. Without an allow list every tool is allowed;
    an empty one allows none.
    """

    def __init__(self, allow: Iterable[str] | None, deny: Iterable[str] | None, lock: Lock | None) -> None:
        self._allow = _patterns(allow, "ASK_TOOLS_ALLOW")
        self._deny = _patterns(deny, "ASK_TOOLS_DENY") or []
        self.lock = lock

    def admits(self, point: EntryPoint) -> bool:
        """Return whether an entry point may be imported."""
        if self.lock is not None and self.lock.digest(point) is None:
            return False
        is_allowed = self._allow is None or matches(self._allow, point.qualified, point.name)
        return is_allowed and not any(matches(self._deny, point.qualified, name) for name in (point.name, point.remote))

    def admits_source(self, source: EntryPoint) -> bool:
        """Return whether a source may be imported: if the allow list and the lock can have a tool of it."""
        if self.lock is not None and not any(name.startswith(f"{source.name}:") for name in self.lock.tools):
            return False
        packages = None if self._allow is None else [pattern.partition(":")[0] for pattern in self._allow]
        is_allowed = packages is None or any(fnmatchcase(source.name, package) for package in packages)
        return is_allowed and not matches(self._deny, source.qualified)


def discover(group: str, paths: Iterable[str | os.PathLike[str]] | None, admission: Admission) -> Discovery:
    """Find entry points in the metadata of distributions; only sources are imported."""
    discovery = Discovery()
    points: list[EntryPoint] = []
    sources: list[EntryPoint] = []
    for distribution in distributions(paths):
        points += distribution.entry_points(group)
        sources += distribution.entry_points(SOURCES) if group == GROUP else ()
        if distribution.error:
            name, version, fix = distribution.name, distribution.version, f"reinstall {distribution.name}"
            discovery.problems.append(LoadProblem("entry_points.txt", name, version, distribution.error, fix))
    points += _points_of_sources(sources, admission, discovery.problems)
    for point in {point.qualified: point for point in reversed(points)}.values():
        if not admission.admits(point):
            discovery.blocked.add(point.qualified)
        elif not _is_legal_name(point.name):
            error = f"{point.name!a} is not a legal name: letters A-Z and a-z, digits, _ and -"
            discovery.problems.append(LoadProblem.of(point, error, f"rename it in {point.distribution}"))
        else:
            digest = admission.lock.digest(point) if admission.lock else None
            discovery.entries.append(Entry(point.name, point=point, digest=digest))
    return discovery


def concrete_subclasses(base: type[Tool]) -> list[type[Tool]]:
    """Return the subclasses in memory that are not abstract, by module and name; the newest of those defined again."""
    subclasses: dict[tuple[str, str, str], type[Tool]] = {}
    bases = [base]
    while bases:
        for cls in type.__subclasses__(bases.pop(0)):
            bases.append(cls)
            is_abstract = cls._is_abstract or getattr(cls, "__abstractmethods__", None)  # pyright: ignore[reportPrivateUsage]
            if not is_abstract and not cls.__module__.startswith("tools_core."):
                subclasses[cls.__module__, cls.__qualname__, cls.name] = cls
    return [subclasses[key] for key in sorted(subclasses)]


def _points_of_sources(
    sources: list[EntryPoint], admission: Admission, problems: list[LoadProblem]
) -> list[EntryPoint]:
    """Return the tools of sources, and add the origins that cannot be used to the problems."""
    points: list[EntryPoint] = []
    for source in sorted(filter(admission.admits_source, sources), key=lambda source: source.qualified):
        try:
            with installed_packages_first():
                tools = [(_point_of(tool, source), tool) for tool in source.load()()]
        except (Exception, SystemExit) as error:  # noqa: BLE001  (code of the package)
            fix = f"repair that, or uninstall {source.distribution}"
            problems.append(LoadProblem.of(source, f"{type(error).__name__}: {error}", fix, error))
            continue
        for point, tool in tools:
            if tool.error:
                problems.append(LoadProblem.of(point, tool.error, tool.fix))
            else:
                points.append(point)
    return points


def _point_of(tool: Any, source: EntryPoint) -> EntryPoint:
    package = normalize(f"{source.name}:{tool.origin}")
    return EntryPoint(tool.name, tool.value, package, tool.version, tool.folder, tool.fix, tool, tool.remote)


def _patterns(patterns: Iterable[str] | None, variable: str) -> list[str] | None:
    if patterns is not None:
        return split_patterns(patterns)
    text = os.environ.get(variable)
    return None if text is None else split_patterns(text) if text.strip(", ") else []
