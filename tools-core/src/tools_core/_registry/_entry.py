"""`Entry`: a tool in a registry, registered or discovered, and the problems of discovered tools."""

from __future__ import annotations

import os
import sys
import threading
from dataclasses import dataclass, field
from typing import Any

from tools_core._registry._entry_points import EntryPoint, installed_packages_first
from tools_core._registry._lock_file import hash_of, locked_definition
from tools_core._tools._tool import Tool
from tools_core._tools._toolset import Toolset, as_tools, instance_of
from tools_core._values._errors import DefinitionError, ToolError
from tools_core._values._problem import clip
from tools_core.text import visible

_ERROR_LIMIT = 300  # characters
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class LoadProblem:
    """What is wrong with an installed tool, and how to fix it.

    `name` is the tool's name; `distribution` and `version` say where it comes from, and are empty for a class that
    `discover_subclasses` found. `cause` is the exception of the package, if there is one.
    """

    name: str
    distribution: str
    version: str
    error: str
    fix: str
    cause: BaseException | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "error", clip(visible(" ".join(self.error.split())), _ERROR_LIMIT))

    @classmethod
    def of(cls, point: EntryPoint, error: str, fix: str, cause: BaseException | None = None) -> LoadProblem:
        """Return a problem of an entry point."""
        return cls(point.name, point.distribution, point.version, error, fix, cause)

    def __str__(self) -> str:
        origin = f" ({self.distribution} {self.version})" if self.distribution else ""
        return f"{self.name}{origin}: {self.error}; fix: {self.fix}"


@dataclass(slots=True, eq=False)
class Entry:
    """A tool under its name. `point` is set for a discovered tool, and `source` is the object that was registered.

    `digest` is the hash that the definition must have, None without a lock file. Packages are imported without a
    thread lock, because Python detects deadlocks of its import locks only. If two threads load a tool, the first result
    counts.
    """

    name: str
    point: EntryPoint | None = None
    source: object = None
    tool: Tool | None = None
    problem: LoadProblem | None = None
    digest: str | None = None
    _loading: set[int] = field(default_factory=set)  # threads

    @property
    def is_registered(self) -> bool:
        """Return whether the program registered the tool; an entry point may name it as well."""
        return self.source is not None

    @property
    def qualified(self) -> str:
        """The name that is unique in a registry: `tools-weather:get`, or `get` for a tool without an entry point."""
        return self.point.qualified if self.point else self.name

    @property
    def origin(self) -> str:
        """The definition of the tool: `tools-weather 1.0 (tools_weather:get)`, or `module:qualname`."""
        return str(self.point) if self.point else origin_of(self.source)

    def is_of(self, source: object) -> bool:
        """Return whether an object was registered here, or is named by the entry point."""
        return source is self.source or bool(self.point and self.point.names(source))

    def is_reload_of(self, other: Entry) -> bool:
        """Return whether the same definition at module level ran again, as in a notebook."""
        name = getattr(self.source, "__qualname__", "<locals>")
        is_of_server = ":" in getattr(self.source, "__module__", "")  # `mcp:github`: no module
        return not is_of_server and "<" not in name and origin_of(self.source) == origin_of(other.source)

    def load(self, toolsets: dict[type[Toolset], Toolset]) -> Tool:
        """Return the tool, imported by the first call; `toolsets` are the instances that methods share.

        Raises: ToolError if the tool cannot be loaded, in this call and in later ones.
        """
        outcome = self.tool if self.tool is not None else self.problem or self._load(toolsets)
        if isinstance(outcome, LoadProblem):
            origin = f"`{outcome.name}` of {outcome.distribution} {outcome.version}"
            message = f"{origin} is unavailable: {outcome.error}; fix: {outcome.fix}"
            raise ToolError(message, "unavailable") from outcome.cause
        return outcome

    def _load(self, toolsets: dict[type[Toolset], Toolset]) -> Tool | LoadProblem:
        point = self.point
        assert point is not None  # noqa: S101  # else the tool is loaded
        thread = threading.get_ident()
        if thread in self._loading:
            return LoadProblem.of(point, "it is being imported", "use it after the import")
        self._loading.add(thread)
        tool = problem = None
        try:
            with installed_packages_first():
                tool = _load_tool(point, toolsets)
            if tool.name != point.name:
                error = f"the entry point `{point.name}` has a tool called `{tool.name}`; it is used as `{point.name}`"
                problem = LoadProblem.of(point, error, f"give both the same name in {point.distribution}")
                tool = tool.renamed(point.name)
            if self.digest is not None and hash_of(locked_definition(tool)) != self.digest:
                fix = "see what has changed: ask-tools verify; if you trust it: ask-tools lock"
                raise _EntryPointError("its definition differs from the lock", fix)  # noqa: TRY301  (the caller reports both kinds alike)
        except (Exception, SystemExit) as failure:  # noqa: BLE001  (code of the package)
            tool, problem = None, _load_problem(point, failure)
        finally:
            self._loading.discard(thread)
        with _lock:
            if self.tool is not None:
                return self.tool
            self.tool, self.problem = tool, problem
        return tool or problem  # type: ignore[return-value]  # one of them is set


def origin_of(source: object) -> str:
    """Return where a tool is defined: `module:qualname` of its function or class."""
    definition = source if hasattr(source, "__qualname__") else type(source)
    return f"{getattr(definition, '__module__', '?')}:{getattr(definition, '__qualname__', '?')}"


class _EntryPointError(DefinitionError):
    """An entry point that cannot be used, with a fix."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(message)
        self.fix = fix


def _load_tool(point: EntryPoint, toolsets: dict[type[Toolset], Toolset]) -> Tool:
    objects = [_instance_of_toolset(value, toolsets) for value in point.resolve()]
    value = objects[-1]
    if isinstance(value, Toolset):
        methods = [(tool.name, getattr(tool, "__name__", "")) for tool in value.tools]
        lines = [f'{name} = "{point.module}:{point.attribute}.{method}"' for name, method in methods]
        fix = f"list each method in {point.distribution}: {', '.join(lines)}"
        raise _EntryPointError(f"`{point.value}` is a toolset; an entry point is one tool", fix)
    if len(objects) > 1 and isinstance(objects[-2], Toolset):
        return objects[-2].tool(point.attribute.rpartition(".")[2])
    (tool,) = as_tools(value)
    return tool


def _instance_of_toolset(value: Any, toolsets: dict[type[Toolset], Toolset]) -> Any:
    """Return the one instance of a class of toolsets, and any other object unchanged."""
    if not isinstance(value, type) or not issubclass(value, Toolset):
        return value
    return toolsets.get(value) or toolsets.setdefault(value, instance_of(value))


def _load_problem(point: EntryPoint, error: BaseException) -> LoadProblem:
    if isinstance(error, _EntryPointError):
        return LoadProblem.of(point, str(error), error.fix)
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, SystemExit):
        text = f"called sys.exit({error}) while it was imported"
    return LoadProblem.of(point, text, point.fix or _fix(point, error), error)


def _fix(point: EntryPoint, error: BaseException) -> str:
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    package, folder = point.module.partition(".")[0], os.path.dirname(point.folder)
    if missing is None or (missing != package and missing.startswith(f"{package}.")):
        return f"upgrade or uninstall {point.distribution}"
    if missing != package:
        return f"install the package that provides `{missing}`"
    return f"add {folder} to sys.path" if folder not in sys.path else f"reinstall {point.distribution}"
