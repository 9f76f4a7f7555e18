"""`DiscoveredTool`: an installed tool that is imported when it is first used."""

from __future__ import annotations

import os
import sys
import threading

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
        self.problem: LoadProblem | None = None
        self._toolsets = toolsets
        self._tool: Tool | None = None
        self._cause: BaseException | None = None
        self._loading: set[int] = set()  # threads
        self._lock = threading.Lock()

    @property
    def is_broken(self) -> bool:
        """Return whether loading has failed."""
        return self.problem is not None and self._tool is None

    def load(self) -> Tool:
        """Return the tool, imported at the first call; ToolError if that fails, then and from then on."""
        if self._tool is None and self.problem is None:
            self._load()
        if self._tool is None:
            raise self._unavailable(self.problem) from self._cause
        return self._tool

    def _load(self) -> None:
        thread = threading.get_ident()
        if thread in self._loading:
            raise self._unavailable(LoadProblem.of(self.point, "it is being loaded", "use it after the import"))
        self._loading.add(thread)
        tool, problem, cause = None, None, None
        try:
            tool, problem = self._make()
        except _Refused as refused:
            problem = LoadProblem.of(self.point, *refused.args)
        except (Exception, SystemExit) as error:  # noqa: BLE001  (code of the package)
            problem, cause = LoadProblem.of(self.point, _describe(error), self._fix(error)), error
        finally:
            self._loading.discard(thread)
        with self._lock:
            if self._tool is None:
                self._tool, self.problem, self._cause = tool, problem, cause

    def _toolset_or_same(self, value: Any) -> Any:
        """Return the one instance of a class of toolsets, and any other object as it is."""
        from tools_core._tools._as_tools import instance_of  # not needed to list names
        from tools_core._tools._toolset import Toolset

        if not isinstance(value, type) or not issubclass(value, Toolset):
            return value
        return self._toolsets.get(value) or self._toolsets.setdefault(value, instance_of(value))

    def _make(self) -> tuple[Tool, LoadProblem | None]:
        """Return the tool, and a problem if its own name is another one."""
        from tools_core._tools._as_tools import as_tools  # not needed to list names
        from tools_core._tools._toolset import Toolset

        point = self.point
        owner, found = map(self._toolset_or_same, point.load_with_owner())
        if isinstance(found, Toolset):
            raise _one_per_method(point, found)
        if isinstance(owner, Toolset):
            tool: Tool = owner.tool(point.attribute.rpartition(".")[2])
        else:
            (tool,) = as_tools(found)
        problem = None
        if tool.name != point.name:
            error = f"the entry point `{point.name}` has a tool called `{tool.name}`; it is used as `{point.name}`"
            problem = LoadProblem.of(point, error, f"give both the same name in {point.distribution}")
            tool = tool.renamed(point.name)
        if self.digest is not None:
            from tools_core._registry._lock_file import hash_of, locked_definition  # only with a lock

            if hash_of(locked_definition(tool, point.name)) != self.digest:
                fix = "see what has changed: ask-tools verify; if you trust it: ask-tools lock"
                raise _Refused("its definition is not the one that was locked", fix)
        return tool, problem

    def _fix(self, error: BaseException) -> str:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        package, distribution = self.point.module.partition(".")[0], self.point.distribution
        folder = os.path.dirname(self.point.folder)
        if missing is None or (missing != package and missing.startswith(f"{package}.")):
            return f"upgrade or uninstall {distribution}"
        if missing != package:
            return f"install the package that provides `{missing}`"
        return f"add {folder} to sys.path" if folder not in sys.path else f"reinstall {distribution}"

    def _unavailable(self, problem: LoadProblem | None) -> ToolError:
        origin = f"`{self.point.name}` of {self.point.distribution} {self.point.version}"
        reason = f"{problem.error}; fix: {problem.fix}" if problem else "it was not loaded"
        return ToolError(f"{origin} is unavailable: {reason}", "unavailable")


class _Refused(Exception):
    """An error and a fix for an entry point that loads but is not accepted."""


def _one_per_method(point: EntryPoint, toolset: Toolset) -> _Refused:
    """Return the error for a toolset, with the entry points to list in its place."""
    methods = [(tool.name, getattr(tool, "__name__", "")) for tool in toolset.tools]
    lines = [f'{name} = "{point.module}:{point.attribute}.{method}"' for name, method in methods]
    error = f"`{point.value}` is a toolset; an entry point is one tool"
    return _Refused(error, f"list each method in {point.distribution}: {', '.join(lines)}")


def _describe(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"called sys.exit({error}) while it was imported"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
