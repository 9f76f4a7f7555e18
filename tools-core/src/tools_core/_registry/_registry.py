"""Tools by name: registered in this process, or installed and found through entry points."""

from __future__ import annotations

import os
import threading
from collections.abc import ItemsView, Mapping, ValuesView
from contextlib import suppress

from tools_core._registry._admission import Admission
from tools_core._registry._catalog import Catalog
from tools_core._registry._discovered_tool import DiscoveredTool
from tools_core._registry._entry_points import scan
from tools_core._registry._load_problem import LoadProblem
from tools_core._registry._patterns import matches, split_patterns
from tools_core._registry._registered import Registered
from tools_core._registry._sources import SOURCES, read_sources
from tools_core._values._errors import DefinitionError, ToolError, UnknownToolError

TYPE_CHECKING: bool = False  # importing typing costs 4 ms; with a type, jedi reads the block as well
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, TypeVar

    from tools_core._registry._entry_points import EntryPoint
    from tools_core._registry._lock_file import Lock
    from tools_core._tools._approval import Approve
    from tools_core._tools._tool import Tool
    from tools_core._tools._toolset import Toolset
    from tools_core._values._context import Context
    from tools_core._values._result import Result
    from tools_core._values._tool_call import ToolCall

    T = TypeVar("T")


GROUP = "ask_tools.tools"

_FROM_ENVIRONMENT: Any = object()


class Registry(Mapping[str, "Tool"]):
    """Tools by name: those registered, in that order, then those discovered, by distribution and name.

    A discovered tool is imported when it is first used; listing names imports nothing. `distribution:name` is a name
    of each. If two distributions have a tool of one name, the bare name is an error that lists both, and a registered
    tool comes before discovered ones. `values`, `items`, `all` and `definitions` load every tool and leave out those
    that cannot be loaded, which are `problems`. Registries can be used from several threads.

    With `auto=True` the first read discovers the installed tools.
    """

    def __init__(self, *, auto: bool = False) -> None:
        self._auto = auto
        self._registered: dict[str, Registered] = {}
        self._catalog = Catalog()
        self._toolsets: dict[type[Toolset], Toolset] = {}
        self._class_problems: dict[str, LoadProblem] = {}
        self._lock = threading.RLock()  # held for changes, but not while a package is imported

    def register(self, tool: T, *, replace: bool = False) -> T:
        """Add a tool, or all of a toolset, and return the same object: this is a decorator as well.

        Raises: ValueError if another tool has the name and `replace` is not set; DefinitionError if it is not a tool.
        """
        from tools_core._tools._as_tools import as_tools  # not needed to list names

        made = {each.name: Registered(each, tool) for each in as_tools(tool)}
        with self._lock:
            if not replace:
                made = {name: new for name, new in made.items() if not self._has(name, tool)}
                for name, new in made.items():
                    self._check_free(name, new)
            self._registered.update(made)
        return tool

    def unregister(self, name: str) -> None:
        """Remove a tool; a discovered one returns with the next `discover`.

        Raises: UnknownToolError
        """
        with self._lock:
            found = self._find(name)
            if found is None:
                raise self._unknown(name)
            if isinstance(found, DiscoveredTool):
                self._catalog = self._catalog.without(found)
            else:
                del self._registered[name]

    def clear(self) -> None:
        """Remove everything, problems included; installed tools return with the next `discover`."""
        with self._lock:
            self._auto = False
            self._registered = {}
            self._catalog = Catalog()
            self._toolsets = {}
            self._class_problems = {}

    def discover(
        self,
        group: str = GROUP,
        *,
        allow: Iterable[str] | None = None,
        deny: Iterable[str] | None = None,
        paths: Iterable[str | os.PathLike[str]] | None = None,
        lock: str | os.PathLike[str] | None = _FROM_ENVIRONMENT,
    ) -> list[str]:
        """Find installed tools by their entry points and return the new names; no package is imported.

        Tools that could not be loaded before get another chance.

        Args:
            group: The group of entry points.
            allow: Patterns as for `select`; other tools are blocked, and an empty list allows nothing. By default
                `ASK_TOOLS_ALLOW`, with commas; set but empty, it allows nothing.
            deny: Patterns of tools that are blocked in any case; by default `ASK_TOOLS_DENY`.
            paths: The folders to search; by default those of `sys.path`, but not the folder of the script or the
                current folder, which Python puts first.
            lock: A file that `ask-tools lock` wrote. Tools that it does not name are blocked, and a tool with another
                definition cannot be called. By default `ASK_TOOLS_LOCK`; None for no lock.

        Raises: ValueError if the lock cannot be read.
        """
        admission = Admission(allow, deny, _read_lock(lock))
        unreadable: list[tuple[str, str, str]] = []
        points = scan((group, SOURCES) if group == GROUP else group, paths, unreadable)
        points, problems = read_sources(points, admission)
        with self._lock:
            self._auto = False
            known = self._catalog.tools
            self._catalog = self._catalog.updated(points, unreadable, admission, self._toolsets, problems)
            return [
                self._listed(tool)
                for name, tool in self._catalog.tools.items()
                if not (name in known and known[name].point.is_same(tool.point)) and not self._is_registered(tool)
            ]

    def select(self, patterns: Iterable[str] | str) -> list[str]:
        """Return the names of the tools that patterns select, in the order of the registry; no package is imported.

        A pattern is `NAME`, `x_*`, `PACKAGE`, `PACKAGE:NAME` or `PACKAGE:x_*`; a string may have several, with commas
        between them. A package is a distribution, or an MCP server as `mcp:SERVER`; `mcp:*` is every server.

        Raises: UnknownToolError for a pattern that matches nothing; ValueError for an empty one.
        """
        tools = {name: (name, "") for name in self._registered}
        for name in self:
            point = None if name in self._registered else self.origin(name)
            tools[name] = (point.name, point.distribution) if point else (name, "")
        selected: set[str] = set()
        for pattern in split_patterns(patterns):
            names = [name for name, tool in tools.items() if pattern == name or matches(pattern, *tool)]
            if not names:
                packages = [package for _, package in tools.values() if package]
                raise self._unknown(pattern, dict.fromkeys(packages))
            selected.update(names)
        return [name for name in tools if name in selected]

    def subset(
        self,
        *,
        only: Iterable[str] | None = None,
        exclude: Iterable[str] = (),
        prefix: str = "",
        rename: Mapping[str, str] | None = None,
    ) -> Registry:
        """Return a new registry with some of the tools: a snapshot, which later changes here do not reach.

        The tools are loaded now; those that cannot be loaded are left out.

        Args:
            only: Patterns of the tools, as for `select`; by default all. An empty list is none.
            exclude: Patterns of tools that are left out in any case.
            prefix: Put before each name, except those in `rename`.
            rename: New names, as `{"old": "new"}`.

        Raises: UnknownToolError for a pattern or an old name without a tool; ValueError for an empty pattern, or if two
            tools would have one name; DefinitionError for an invalid name.
        """
        excluded, new_names = self.select(exclude), dict(rename or {})
        for name in new_names:
            if name not in self:
                raise self._unknown(name)
        made = Registry()
        for name in self if only is None else self.select(only):
            if name in excluded:
                continue
            with suppress(ToolError):  # cannot be loaded: it is among the problems
                tool = self[name]
                new = new_names.get(name, prefix + name)
                if new in made._registered:
                    raise ValueError(f"two tools would have the name `{new}`; rename one of them")
                tool = tool if new == name else tool.renamed(new)
                made._registered[new] = Registered(tool, tool)
        return made

    def discover_subclasses(self, base: type[Tool] | None = None) -> list[type[Tool]]:
        """Register the concrete subclasses of `base` that are in memory, and return the new ones.

        `base` is `Tool` by default. A class that takes arguments, or whose name is taken, becomes a problem.
        """
        from tools_core._registry._subclasses import concrete_subclasses  # not needed to list names
        from tools_core._tools._tool import Tool

        new: list[type[Tool]] = []
        for cls in concrete_subclasses(base or Tool):
            if self._has(cls.name, cls):
                continue
            try:
                new.append(self.register(cls))
            except Exception as error:  # noqa: BLE001  (a constructor may raise anything)
                origin, fix = f"{cls.__module__}:{cls.__qualname__}", "register an instance or rename it"
                self._class_problems[origin] = LoadProblem(origin, "", "", str(error), fix, error)
        return new

    @property
    def problems(self) -> list[LoadProblem]:
        """Return what is known to be wrong; that a tool cannot be loaded is known after its first use.

        A problem has `name`, `distribution` and `version`, the `error`, and a `fix`.
        """
        self._discover_once()
        found = [*self._class_problems.values(), *self._catalog.problems.values()]
        for tool in self._catalog.tools.values():
            found += self._collisions(tool)
            found += [tool.problem] if tool.problem else []
        return found

    @property
    def blocked(self) -> list[str]:
        """Return the tools that the allow and deny lists and the lock block, as `distribution:name`."""
        self._discover_once()
        return list(self._catalog.blocked)

    def origin(self, name: str) -> EntryPoint | None:
        """Return the entry point of a discovered tool, without importing it; None for a registered tool.

        An entry point has `distribution`, `version`, `name` and `value`, and `load` imports its object.

        Raises: UnknownToolError if two distributions have the name.
        """
        found = self._find(name)
        return found.point if isinstance(found, DiscoveredTool) else None

    def __getitem__(self, name: str) -> Tool:
        found = self._find(name)
        if found is None:
            raise self._unknown(name)
        return found.load()

    def __contains__(self, name: object) -> bool:
        with suppress(UnknownToolError):  # of two distributions
            return self._find(name) is not None
        return False

    def __iter__(self) -> Iterator[str]:
        self._discover_once()
        tools = self._catalog.tools.values()
        return iter([*self._registered, *(self._listed(tool) for tool in tools if not self._is_registered(tool))])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def count(self) -> int:
        """Return the number of tools."""
        return len(self)

    def all(self) -> list[Tool]:
        """Return every tool that can be loaded."""
        return list(self._loaded().values())

    def values(self) -> ValuesView[Tool]:
        return self._loaded().values()

    def items(self) -> ItemsView[str, Tool]:
        return self._loaded().items()

    def definitions(self) -> list[dict[str, Any]]:
        """Return the definitions for a model, each with the name of the tool in this registry."""
        return [{**tool.definition, "name": name} for name, tool in self._loaded().items()]

    def call(self, call: ToolCall, context: Context | None = None, *, approve: Approve = None) -> Result:
        """Call the tool that a model asked for; an unknown or broken tool is a Result as well.

        A tool with `requires_approval` is called if `approve` is "all", or a function that returns True or "once" for
        the ApprovalRequest; else the error is `approval_required` or `denied`.
        """
        try:
            tool = self[call.name]
        except (DefinitionError, ToolError, UnknownToolError) as error:
            return _not_called(error)
        if not tool.requires_approval or approve == "all":
            return tool.call(call, context)
        from tools_core._tools._approval import call_if_approved  # not needed for most tools

        return call_if_approved(tool, call, context, approve)

    async def acall(self, call: ToolCall, context: Context | None = None, *, approve: Approve = None) -> Result:
        """`call` for coroutines; `approve` may be a coroutine function."""
        try:
            tool = self[call.name]
        except (DefinitionError, ToolError, UnknownToolError) as error:
            return _not_called(error)
        if not tool.requires_approval or approve == "all":
            return await tool.acall(call, context)
        from tools_core._tools._approval import acall_if_approved  # see call

        return await acall_if_approved(tool, call, context, approve)

    # The inherited comparison would load every tool.
    __eq__ = object.__eq__
    __hash__ = object.__hash__  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        return f"<Registry of {len(self._registered)} registered and {len(self._catalog.tools)} discovered tools>"

    def _discover_once(self) -> None:
        if self._auto:
            with self._lock:
                if self._auto:
                    self.discover()

    def _find(self, name: object) -> Registered | DiscoveredTool | None:
        """Return the tool with a name, not loaded yet; UnknownToolError if two distributions have the name."""
        if not isinstance(name, str):
            return None
        registered = self._registered.get(name)  # comes first in any case
        if registered is not None:
            return registered
        self._discover_once()
        return self._catalog.find(name)

    def _loaded(self) -> dict[str, Tool]:
        found: dict[str, Tool] = {}
        for name in self:
            with suppress(ToolError, UnknownToolError):  # broken, or removed by another thread
                found[name] = self[name]
        return found

    def _listed(self, tool: DiscoveredTool) -> str:
        """Return the name that a discovered tool is listed by: the bare one if it has no other owner."""
        name = tool.point.name
        is_shared = name in self._registered or len(self._catalog.owners(name)) > 1
        return tool.point.qualified if is_shared else name

    def _is_registered(self, tool: DiscoveredTool) -> bool:
        """Return whether the object that an entry point names was registered as well: then it is one tool."""
        registered = self._registered.get(tool.point.name)
        return registered is not None and tool.point.is_of(registered.source)

    def _has(self, name: str, source: object) -> bool:
        """Return whether an object was registered, or is that of an entry point."""
        known = self._registered.get(name)
        if known is not None:
            return known.source is source
        return any(tool.point.is_of(source) for tool in self._catalog.owners(name))

    def _check_free(self, name: str, new: Registered) -> None:
        known = self._registered.get(name)
        if known is not None and new.is_reload_of(known):
            return
        holders = [known.origin] if known else [str(tool.point) for tool in self._catalog.owners(name)]
        if holders:
            raise ValueError(
                f"`{new.origin}` cannot be registered as `{name}`: {' and '.join(holders)} has that name; "
                f"give one of them another name, or register with replace=True"
            )

    def _collisions(self, tool: DiscoveredTool) -> list[LoadProblem]:
        """Return the problem of a discovered tool whose name others have as well."""
        point = tool.point
        others = [str(other.point) for other in self._catalog.owners(point.name) if other is not tool]
        registered = self._registered.get(point.name)
        others += [registered.origin] if registered is not None and not self._is_registered(tool) else []
        if not others:
            return []
        error = f"`{point.name}` is also the name of {' and '.join(others)}"
        fix = f"use `{point.qualified}`, or block it: ASK_TOOLS_DENY={point.qualified}"
        return [LoadProblem.of(point, error, fix)]

    def _unknown(self, name: object, packages: Iterable[str] | None = None) -> UnknownToolError:
        from tools_core._registry._unknown_tool import unknown_tool  # only for a wrong name

        return unknown_tool(name, self, packages, self.blocked)


def _not_called(error: DefinitionError | ToolError | UnknownToolError) -> Result:
    from tools_core._values._result import Result  # not needed to list names

    kind = "unknown_tool" if isinstance(error, UnknownToolError) else getattr(error, "type", "unavailable")
    return Result.error(str(error), type=kind, exception=error)


def _read_lock(path: str | os.PathLike[str] | None) -> Lock | None:
    if path is _FROM_ENVIRONMENT:
        path = os.environ.get("ASK_TOOLS_LOCK")
    if path is None:
        return None
    from tools_core._registry._lock_file import read  # brings json, 3 ms

    return read(path)


registry = Registry(auto=True)
