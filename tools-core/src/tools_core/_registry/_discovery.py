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
from typing import Any

from tools_core._registry._admission import SOURCES, TOOLS, Admission
from tools_core._registry._entry import Entry, LoadProblem
from tools_core._registry._entry_points import EntryPoint, distributions, installed_packages_first
from tools_core._registry._patterns import normalize
from tools_core._tools._options import NAME_PATTERN
from tools_core._tools._tool import Tool
from tools_core.text import closest

_is_legal_name = re.compile(NAME_PATTERN).fullmatch


@dataclass(slots=True)
class Discovery:
    """The tools that may be used, the qualified names of blocked tools, and the problems of packages."""

    entries: list[Entry] = field(default_factory=list)
    blocked: set[str] = field(default_factory=set)
    problems: list[LoadProblem] = field(default_factory=list)


def discover(group: str, paths: Iterable[str | os.PathLike[str]] | None, admission: Admission) -> Discovery:
    """Find entry points in the metadata of distributions; only sources are imported."""
    discovery = Discovery()
    points: list[EntryPoint] = []
    sources: list[EntryPoint] = []
    extensions: list[EntryPoint] = []  # of every group of ours
    for distribution in distributions(paths):
        points += distribution.entry_points(group)
        sources += distribution.entry_points(SOURCES) if group == TOOLS else ()
        extensions += distribution.entry_points("ask_tools.*")
        if distribution.error:
            name, version, fix = distribution.name, distribution.version, f"reinstall {distribution.name}"
            discovery.problems.append(LoadProblem("entry_points.txt", name, version, distribution.error, fix))
    packages: list[str] = []  # whose tools are not known
    names = {point.distribution for point in points}
    for source in sorted(sources, key=lambda source: source.qualified):
        if source.name in names:  # then the patterns of that package would admit the source
            fix = f"rename it in {source.distribution}"
            discovery.problems.append(
                LoadProblem.of(source, "it is a source with the name of a package with tools", fix)
            )
        elif not admission.admits_source(source):
            packages.append(source.name)
        else:
            points += _points_of(source, discovery.problems, packages)
    _add(points, group, admission, discovery)
    if group == TOOLS:
        unmatched = admission.unmatched([*extensions, *points], packages)
        discovery.problems += [_unmatched(kind, pattern, points) for kind, pattern in unmatched]
    return discovery


def _add(points: Iterable[EntryPoint], group: str, admission: Admission, discovery: Discovery) -> None:
    """Add entry points to the result of a discovery; of equal ones, the first counts."""
    for point in {point.qualified: point for point in reversed([*points])}.values():
        if not admission.admits(point, group):
            discovery.blocked.add(point.qualified)
        elif not _is_legal_name(point.name):
            error = f"{point.name!a} is not a legal name: letters A-Z and a-z, digits, _ and -"
            discovery.problems.append(LoadProblem.of(point, error, f"rename it in {point.distribution}"))
        else:
            digest = admission.lock.digest(point) if admission.lock else None
            discovery.entries.append(Entry(point.name, point=point, digest=digest))


def _unmatched(kind: str, pattern: str, points: Iterable[EntryPoint]) -> LoadProblem:
    candidates = [text for point in points for text in (point.name, point.distribution, point.qualified)]
    similar = [f"`{name}`" for name in closest(pattern, dict.fromkeys(candidates), 1)]
    fix = f"did you mean {similar[0]}? Else remove it" if similar else "correct it, or remove it"
    return LoadProblem(kind, "", "", f"the pattern `{pattern}` matches no installed tool or package", fix)


def concrete_subclasses(base: type[Tool]) -> list[type[Tool]]:
    """Return the subclasses in memory that are not abstract, by module and name; the newest of those defined again."""
    subclasses: dict[tuple[str, str, str], type[Tool]] = {}
    bases = [base]
    while bases:
        for cls in type.__subclasses__(bases.pop(0)):
            bases.append(cls)
            is_abstract = cls._is_abstract or getattr(cls, "__abstractmethods__", None)  # pyright: ignore[reportPrivateUsage]  # a class of this package
            if not is_abstract and not cls.__module__.startswith("tools_core."):
                subclasses[cls.__module__, cls.__qualname__, cls.name] = cls
    return [subclasses[key] for key in sorted(subclasses)]


def _points_of(source: EntryPoint, problems: list[LoadProblem], packages: list[str]) -> list[EntryPoint]:
    """Return the tools of a source; an origin that cannot be used is a problem, and a package without known tools."""
    try:
        with installed_packages_first():
            tools = [(_point_of(tool, source), tool) for tool in source.load()()]
    except (Exception, SystemExit) as error:  # noqa: BLE001  (code of the package)
        fix = f"repair that, or uninstall {source.distribution}"
        problems.append(LoadProblem.of(source, f"{type(error).__name__}: {error}", fix, error))
        packages.append(source.name)
        return []
    for point, tool in tools:
        if tool.error:
            problems.append(LoadProblem.of(point, tool.error, tool.fix))
            packages.append(point.distribution)
    return [point for point, tool in tools if not tool.error]


def _point_of(tool: Any, source: EntryPoint) -> EntryPoint:
    package = normalize(f"{source.name}:{tool.origin}")
    return EntryPoint(tool.name, tool.value, package, tool.version, tool.folder, tool.fix, tool, tool.remote)
