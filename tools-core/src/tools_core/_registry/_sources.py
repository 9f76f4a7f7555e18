"""Tools that an installed package finds elsewhere, such as those of MCP servers: the group `ask_tools.sources`.

An entry point `mcp = "tools_mcp:source"` names a function without arguments. It returns objects with these attributes,
and starts nothing for it: `name` of the tool; `origin`, the part of the source that has it, such as a server, and
`version` of that; `value`, what runs when it is called; `folder`, the file that lists it; `fix`, how to repair it;
`load()`, which makes the tool; and `error`, which is not empty if the origin cannot be used. They compare equal if
nothing has changed.
"""

from __future__ import annotations

from tools_core._registry._entry_points import EntryPoint
from tools_core._registry._load_problem import LoadProblem
from tools_core._registry._patterns import normalize

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from tools_core._registry._admission import Admission

SOURCES = "ask_tools.sources"


class SourcePoint(EntryPoint):
    """A tool of a source, from the distribution `SOURCE:ORIGIN`, such as `mcp:github`."""

    __slots__ = ("_given",)

    def __init__(self, source: EntryPoint, given: Any, name: str) -> None:
        distribution = normalize(f"{source.name}:{given.origin}")
        super().__init__(name, given.value, source.group, distribution, given.version, given.folder)
        self._given = given

    @property
    def fix(self) -> str:
        return str(self._given.fix)

    @property
    def module(self) -> str:
        return ""

    @property
    def attribute(self) -> str:
        return ""

    def load_with_owner(self) -> tuple[Any, Any]:
        tool = self._given.load()
        return None, tool if tool.name == self.name else tool.renamed(self.name)

    def is_same(self, other: EntryPoint) -> bool:
        return isinstance(other, SourcePoint) and self._given == other._given


def read_sources(points: Iterable[EntryPoint], admission: Admission) -> tuple[list[EntryPoint], list[LoadProblem]]:
    """Replace the entry points of sources by those of their tools, and return the problems that sources have.

    A tool whose name another package or origin has as well is called `ORIGIN_NAME`.
    """
    tools = [point for point in points if point.group != SOURCES]
    problems: list[LoadProblem] = []
    found: list[tuple[EntryPoint, Any]] = []
    for source in points:
        if source.group != SOURCES or not admission.admits_source(source):
            continue
        try:
            found += [(source, each) for each in source.load()()]
        except (Exception, SystemExit) as error:  # noqa: BLE001  (code of the package)
            fix = f"repair that, or uninstall {source.distribution}"
            problems.append(LoadProblem.of(source, f"{type(error).__name__}: {error}", fix, error))
    counts: dict[str, int] = {}
    for name in (*(point.name for point in tools), *(each.name for _, each in found)):
        counts[name] = counts.get(name, 0) + 1
    for source, each in found:
        point = SourcePoint(source, each, each.name)
        if each.error:
            problems.append(LoadProblem.of(point, each.error, each.fix))
            continue
        if counts[each.name] > 1:
            point.name = f"{each.origin}_{each.name}"
        tools.append(point)
    return tools, problems
