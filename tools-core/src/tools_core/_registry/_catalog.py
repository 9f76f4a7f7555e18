"""The discovered tools under their names."""

from __future__ import annotations

import re

from tools_core._definition._naming import NAME_PATTERN
from tools_core._registry._discovered_tool import DiscoveredTool
from tools_core._registry._load_problem import LoadProblem
from tools_core._registry._patterns import normalize
from tools_core._values._errors import UnknownToolError

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tools_core._registry._admission import Admission
    from tools_core._registry._entry_points import EntryPoint
    from tools_core._tools._toolset import Toolset

_is_legal_name = re.compile(NAME_PATTERN).fullmatch


class Catalog:
    """Discovered tools by qualified name, `distribution:name`; a changed catalog is a new object.

    `blocked` are the qualified names of tools that may not be used, `problems` those of entry points without a tool.
    """

    def __init__(
        self,
        tools: Mapping[str, DiscoveredTool] = {},
        blocked: Iterable[str] = (),
        problems: Mapping[str, LoadProblem] = {},
    ) -> None:
        order = sorted(tools.values(), key=lambda tool: (tool.point.distribution, tool.point.name))
        self.tools = {tool.point.qualified: tool for tool in order}
        self.blocked = sorted(blocked)
        self.problems = dict(problems)
        self._owners: dict[str, list[DiscoveredTool]] = {}
        for tool in self.tools.values():
            self._owners.setdefault(tool.point.name, []).append(tool)

    def updated(
        self,
        points: Iterable[EntryPoint],
        unreadable: Iterable[tuple[str, str, str]],
        admission: Admission,
        toolsets: dict[type[Toolset], Toolset],
        found_problems: Iterable[LoadProblem] = (),
    ) -> Catalog:
        """Return a catalog with these entry points as well; tools that are new, changed or broken will be loaded."""
        found: dict[str, EntryPoint] = {}
        problems = {**self.problems, **{str(problem): problem for problem in found_problems}}
        for distribution, version, error in unreadable:
            problems[error] = LoadProblem("entry_points.txt", distribution, version, error, f"reinstall {distribution}")
        for point in points:
            problem = _problem(point, found.get(point.qualified))
            if problem is None:
                found.setdefault(point.qualified, point)
            elif admission.admits(point):
                problems[str(problem)] = problem
        tools, blocked = dict(self.tools), {*self.blocked} - found.keys()
        for name, point in found.items():
            known, digest = tools.pop(name, None), admission.digest(point)
            if not admission.admits(point):
                blocked.add(name)
            elif known and not known.is_broken and known.point.is_same(point) and known.digest == digest:
                tools[name] = known
            else:
                tools[name] = DiscoveredTool(point, digest, toolsets)
        return Catalog(tools, blocked, problems)

    def without(self, tool: DiscoveredTool) -> Catalog:
        """Return a catalog without a tool."""
        tools = {name: each for name, each in self.tools.items() if each is not tool}
        return Catalog(tools, self.blocked, self.problems)

    def find(self, name: str) -> DiscoveredTool | None:
        """Return the tool with a bare or qualified name; UnknownToolError if two distributions have the bare one."""
        distribution, colon, bare = name.rpartition(":")
        if colon:
            return self.tools.get(f"{normalize(distribution)}:{bare}")
        owners = self.owners(name)
        if len(owners) > 1:
            names = [owner.point.qualified for owner in owners]
            choice = " or ".join(f"`{each}`" for each in names)
            raise UnknownToolError(name, f"`{name}` is the name of more than one tool; use {choice}", names)
        return owners[0] if owners else None

    def owners(self, name: str) -> list[DiscoveredTool]:
        """Return the tools with a bare name."""
        return self._owners.get(name, [])


def _problem(point: EntryPoint, earlier: EntryPoint | None) -> LoadProblem | None:
    """Return why an entry point cannot be used, given an earlier one with the same name and distribution."""
    if not _is_legal_name(point.name):
        error = f"{point.name!a} is not a legal name: letters A-Z and a-z, digits, _ and -"
        return LoadProblem.of(point, error, f"rename it in {point.distribution}")
    if earlier and earlier.value != point.value:
        error = f"it is listed twice: {earlier.value} is used, not {point.value}"
        return LoadProblem.of(point, error, f"remove one of the lines in {point.distribution}")
    return None
