"""`DiscoveredTool`: an installed tool that is imported when it is first used."""

from __future__ import annotations

import os
import sys
import threading

from tools_core._registry._entry_points import InstalledFirst
from tools_core._registry._load_problem import LoadProblem
from tools_core._values._errors import ToolError

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from typing import Any

    from tools_core._registry._entry_points import EntryPoint
    from tools_core._tools._tool import Tool
    from tools_core._tools._toolset import Toolset


class DiscoveredTool:
    """An entry point, and once it is loaded its tool or the problem that it has.

    `digest` is the hash that the tool's definition must have; None without a lock. `toolsets` has the toolsets that
    were made so far, by class, since the methods of a toolset share its state.

    No lock is held while a package is imported: Python imports a module once for all threads, and would not notice
    that two imports wait for each other through a lock of ours. The tool that is made first counts.
    """

    def __init__(self, point: EntryPoint, digest: str | None, toolsets: dict[type[Toolset], Toolset]) -> None:
        self.point = point
        self.digest = digest
        self._toolsets = toolsets
        self._outcome: Tool | LoadProblem | None = None
        self._name_problem: LoadProblem | None = None
        self._loading: set[int] = set()  # threads
        self._lock = threading.Lock()

    @property
    def is_broken(self) -> bool:
        """Return whether loading has failed."""
        return isinstance(self._outcome, LoadProblem)

    @property
    def problem(self) -> LoadProblem | None:
        """Return why loading has failed, or what is wrong with the name of the loaded tool."""
        return self._outcome if isinstance(self._outcome, LoadProblem) else self._name_problem

    def load(self) -> Tool:
        """Return the tool, imported at the first call; ToolError if that fails, then and from then on."""
        found = self._load() if self._outcome is None else self._outcome
        if isinstance(found, LoadProblem):
            origin = f"`{self.point.name}` of {self.point.distribution} {self.point.version}"
            raise ToolError(f"{origin} is unavailable: {found.error}; fix: {found.fix}", "unavailable") from found.cause
        return found

    def _load(self) -> Tool | LoadProblem:
        thread = threading.get_ident()
        if thread in self._loading:
            return LoadProblem.of(self.point, "it is being loaded", "use it after the import")
        self._loading.add(thread)
        try:
            with InstalledFirst():
                made = self._make()
        except (Exception, SystemExit) as error:  # noqa: BLE001  (code of the package)
            made = LoadProblem.of(self.point, _describe(error), self._fix(error), error)
        finally:
            self._loading.discard(thread)
        with self._lock:
            if self._outcome is None or self.is_broken:
                self._outcome = made
            return self._outcome

    def _make(self) -> Tool | LoadProblem:
        from tools_core._tools._as_tools import as_tools  # not needed to list names
        from tools_core._tools._toolset import Toolset

        point = self.point
        owner, found = map(self._toolset_or_same, point.load_with_owner())
        if isinstance(found, Toolset):
            return _one_per_method(point, found)
        if isinstance(owner, Toolset):
            tool: Tool = owner.tool(point.attribute.rpartition(".")[2])
        else:
            (tool,) = as_tools(found)
        if tool.name != point.name:
            error = f"the entry point `{point.name}` has a tool called `{tool.name}`; it is used as `{point.name}`"
            self._name_problem = LoadProblem.of(point, error, f"give both the same name in {point.distribution}")
            tool = tool.renamed(point.name)
        if self.digest is not None and not self._is_locked(tool):
            fix = "see what has changed: ask-tools verify; if you trust it: ask-tools lock"
            return LoadProblem.of(point, "its definition is not the one that was locked", fix)
        return tool

    def _is_locked(self, tool: Tool) -> bool:
        from tools_core._registry._lock_file import hash_of, locked_definition  # brings json, 3 ms

        return hash_of(locked_definition(tool)) == self.digest

    def _toolset_or_same(self, value: Any) -> Any:
        """Return the one instance of a class of toolsets, and any other object as it is."""
        from tools_core._tools._as_tools import instance_of  # not needed to list names
        from tools_core._tools._toolset import Toolset

        if not isinstance(value, type) or not issubclass(value, Toolset):
            return value
        return self._toolsets.get(value) or self._toolsets.setdefault(value, instance_of(value))

    def _fix(self, error: BaseException) -> str:
        if self.point.fix:
            return self.point.fix
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        package, distribution = self.point.module.partition(".")[0], self.point.distribution
        folder = os.path.dirname(self.point.folder)
        if missing is None or (missing != package and missing.startswith(f"{package}.")):
            return f"upgrade or uninstall {distribution}"
        if missing != package:
            return f"install the package that provides `{missing}`"
        return f"add {folder} to sys.path" if folder not in sys.path else f"reinstall {distribution}"


def _one_per_method(point: EntryPoint, toolset: Toolset) -> LoadProblem:
    """Return the problem of a toolset, with the entry points that are right."""
    methods = [(tool.name, getattr(tool, "__name__", "")) for tool in toolset.tools]
    lines = [f'{name} = "{point.module}:{point.attribute}.{method}"' for name, method in methods]
    error = f"`{point.value}` is a toolset; an entry point is one tool"
    return LoadProblem.of(point, error, f"list each method in {point.distribution}: {', '.join(lines)}")


def _describe(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"called sys.exit({error}) while it was imported"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
