"""Tools by name: registered in this process, or installed and found through entry points."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Container, ItemsView, Iterable, Iterator, Mapping, ValuesView
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar

from tools_core._registry._admission import TOOLS, Admission
from tools_core._registry._discovery import concrete_subclasses, discover
from tools_core._registry._entry import Entry, LoadProblem, origin_of
from tools_core._registry._entry_points import EntryPoint
from tools_core._registry._lock_file import read as read_lock
from tools_core._registry._patterns import matches, split_patterns, unknown_tool
from tools_core._registry._store import Store
from tools_core._tools._approval import Approve, acall_if_approved, call_if_approved
from tools_core._tools._tool import Tool
from tools_core._tools._toolset import Toolset, as_tools
from tools_core._values._context import Context
from tools_core._values._errors import DefinitionError, ToolError, UnknownToolError
from tools_core._values._problem import NOTHING
from tools_core._values._result import Result
from tools_core._values._tool_call import ToolCall

T = TypeVar("T")
D = TypeVar("D")
# A tool, also as a function or a class; several of them; or a mapping of names to them.
Tools: TypeAlias = Mapping[str, Any] | Iterable[Any] | Tool | Toolset | Callable[..., Any]


class Registry(Mapping[str, Tool]):
    """Tools by name: those registered, in that order, then those discovered, by distribution and name.

    A discovered tool is imported when it is first used, and `distribution:name` is a second name of it. A registered
    tool comes before discovered ones of the same name; a name of two distributions is an error that lists both.
    Registries can be used from several threads.

    Iteration, `in` and `len` include every name. `values`, `items`, `all` and `definitions` load the tools and leave
    out broken ones, which `problems` lists. For a broken tool, `get` returns the default and `registry[name]` raises.
    """

    def __init__(self, tools: Tools | None = None, *, auto: bool = False) -> None:
        """Create a registry.

        Args:
            tools: What to register: a Tool, a Toolset, a class of one, or a function; several of them; or a mapping of
                names to tools, such as another registry.
            auto: Whether the first read discovers the installed tools.

        Raises: ValueError for two tools with one name; DefinitionError for any other object.
        """
        self._auto = auto
        self._store = Store()
        self._class_problems: dict[str, LoadProblem] = {}
        self._toolsets: dict[type[Toolset], Toolset] = {}
        self._discovering: set[int] = set()  # threads
        self._lock = threading.Lock()  # held for changes, but not while a package is imported
        if isinstance(tools, Mapping):
            entries = [Entry(name, source=tool, tool=_tool_named(name, tool)) for name, tool in tools.items()]
            self._store = self._store.with_registered(entries, replace=False)
        elif isinstance(tools, Iterable) and not isinstance(tools, Tool | Toolset | type | str):
            for tool in tools:
                self.register(tool)
        elif tools is not None:
            self.register(tools)

    def register(self, tool: T, *, replace: bool = False) -> T:
        """Add a tool, or all of a toolset, and return the same object: this is a decorator as well.

        Raises: ValueError if another registered tool has the name; DefinitionError if the object is not a tool.
        """
        new = [Entry(new_tool.name, source=tool, tool=new_tool) for new_tool in as_tools(tool)]
        with self._lock:
            self._store = self._store.with_registered(new, replace=replace)
        return tool

    def unregister(self, name: str) -> None:
        """Remove a tool; a discovered one returns with the next `discover`."""
        entry = self._entry(name)
        with self._lock:
            self._store = self._store.without(entry)

    def clear(self) -> None:
        """Remove everything, problems included; installed tools return with the next `discover`."""
        with self._lock:
            self._auto = False
            self._store, self._class_problems, self._toolsets = Store(), {}, {}

    def discover(
        self,
        group: str = TOOLS,
        *,
        allow: Iterable[str] | None = None,
        deny: Iterable[str] | None = None,
        paths: Iterable[str | os.PathLike[str]] | None = None,
        lock: str | os.PathLike[str] | None = NOTHING,
    ) -> list[str]:
        """Find installed tools by their entry points and return the new names; no package is imported.

        They replace the tools that an earlier call found. Broken tools are loaded again when they are next used.

        Args:
            group: The group of entry points.
            allow: Patterns as for `select`; other tools are blocked, and an empty list allows nothing. By default
                `ASK_TOOLS_ALLOW`, with commas; set but empty, it allows nothing. Patterns that match no installed tool
                or package are problems.
            deny: Patterns of tools and packages that are blocked in any case; by default `ASK_TOOLS_DENY`.
            paths: The folders to search; by default `sys.path` without the folder of the script or the current folder,
                which Python puts first.
            lock: A file that `ask-tools lock` wrote. Tools that it does not name are blocked, and a tool with another
                definition cannot be called. By default `ASK_TOOLS_LOCK`; None for no lock.

        Raises: ValueError for a malformed pattern, or a lock that cannot be read.
        """
        path = os.environ.get("ASK_TOOLS_LOCK") if lock is NOTHING else lock
        admission = Admission(allow, deny, None if path is None else read_lock(path))
        discovery = discover(group, paths, admission)
        with self._lock:
            self._auto = False
            self._store, new = self._store.with_discovery(discovery)
            return [self._store.listed_name(entry) for entry in new]

    def select(self, patterns: Iterable[str] | str) -> list[str]:
        """Return the names of the tools that patterns select, in the order of the registry; no package is imported.

        A pattern is `NAME`, `x_*`, `PACKAGE`, `PACKAGE:NAME` or `PACKAGE:x_*`; a string may have several, with commas
        between them. A package is a distribution, or an MCP server as `mcp:SERVER`; `mcp:*` is every server.

        Raises: UnknownToolError for a pattern that matches nothing; ValueError for an empty one.
        """
        tools = dict(self._listed())
        selected: set[str] = set()
        for pattern in split_patterns(patterns):
            names = [name for name, entry in tools.items() if matches([pattern], entry.qualified, entry.name)]
            if not names:
                packages = [entry.point.distribution for entry in tools.values() if entry.point]
                raise unknown_tool(pattern, self, packages, self.blocked)
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
        """Return a new registry with some of the tools: a snapshot that later changes do not affect.

        It loads the tools, and leaves out tools that cannot be loaded.

        Args:
            only: Patterns of the tools, as for `select`; by default all tools, and none for an empty list.
            exclude: Patterns of tools to leave out.
            prefix: Text before each name that `rename` does not change.
            rename: New names, as `{"old": "new"}`.

        Raises: UnknownToolError for a pattern or an old name without a tool; ValueError if two tools would have one
            name; DefinitionError for an invalid name.
        """
        new_names = {id(self._entry(old)): new for old, new in (rename or {}).items()}
        names = {*(self if only is None else self.select(only))} - {*self.select(exclude)}
        entries: dict[str, Entry] = {}
        for name, tool in self._loaded(names).items():
            entry = self._entry(name)
            new_name = new_names.get(id(entry), prefix + entry.name if prefix else name)
            point, renamed = (entry.point, tool) if new_name == name else (None, tool.renamed(new_name))
            if new_name in entries:
                raise ValueError(f"two tools would have the name `{new_name}`; rename one of them")
            entries[new_name] = Entry(new_name, point=point, source=renamed, tool=renamed)
        subset = Registry()
        subset._store = Store(entries)
        return subset

    def discover_subclasses(self, base: type[Tool] | None = None) -> list[type[Tool]]:
        """Register the concrete subclasses of `base` that are in memory, and return the new ones.

        `base` is `Tool` by default. A class that takes arguments, or whose name is taken, becomes a problem.
        """
        new: list[type[Tool]] = []
        for cls in concrete_subclasses(base or Tool):
            origin = origin_of(cls)
            self._class_problems.pop(origin, None)
            if any(entry.is_of(cls) for entry in self._store.named(cls.name)):
                continue
            try:
                new.append(self.register(cls))
            except Exception as error:  # noqa: BLE001  (a constructor may raise anything)
                fix = "register an instance or rename it"
                self._class_problems[origin] = LoadProblem(origin, "", "", str(error), fix, error)
        return new

    @property
    def problems(self) -> list[LoadProblem]:
        """Return the known problems, each with a fix; that a tool cannot be loaded is known after its first use."""
        self._discover_once()
        return [*self._class_problems.values(), *self._store.problems()]

    @property
    def blocked(self) -> list[str]:
        """Return the tools that the allow and deny lists and the lock block, as `distribution:name`."""
        self._discover_once()
        return sorted(self._store.discovery.blocked)

    def origin(self, name: str) -> EntryPoint | None:
        """Return the entry point of a tool, without importing it; None for a tool that only the program registered."""
        return self._entry(name).point if self._named(name) else None

    def __getitem__(self, name: str) -> Tool:
        return self._entry(name).load(self._toolsets)

    def get(self, name: str, default: D | None = None, /) -> Tool | D | None:  # type: ignore[override]  # a name may be missing
        """Return a tool, or the default if it is unknown or cannot be loaded."""
        try:
            return self[name]
        except (ToolError, UnknownToolError):
            return default

    def __contains__(self, name: object) -> bool:
        return len(self._named(name)) == 1

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, _ in self._listed()])

    def __len__(self) -> int:
        return len(self._listed())

    count = property(__len__, doc="The number of tools.")

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
        tool = self._tool_of(call)
        return tool if isinstance(tool, Result) else call_if_approved(tool, call, context, approve)

    async def acall(self, call: ToolCall, context: Context | None = None, *, approve: Approve = None) -> Result:
        """`call` for coroutines; `approve` may be a coroutine function."""
        tool = self._tool_of(call)
        return tool if isinstance(tool, Result) else await acall_if_approved(tool, call, context, approve)

    # The inherited comparison would load every tool.
    __eq__ = object.__eq__
    __hash__ = object.__hash__  # pyright: ignore[reportAssignmentType]  # Mapping sets it to None

    def __repr__(self) -> str:
        registered = [entry.is_registered for entry in self._store]
        return f"<Registry of {sum(registered)} registered and {registered.count(False)} discovered tools>"

    def _discover_once(self) -> None:
        thread = threading.get_ident()
        if self._auto and thread not in self._discovering:  # a source may read the registry while it is imported
            self._discovering.add(thread)
            try:
                self.discover()
            finally:
                self._discovering.discard(thread)

    def _named(self, name: object) -> list[Entry]:
        """Return the entries that a name stands for; more than one if two distributions have the name."""
        self._discover_once()
        return self._store.named(name) if isinstance(name, str) else []

    def _entry(self, name: object) -> Entry:
        entries = self._named(name)
        if not entries:
            raise unknown_tool(name, self, None, self.blocked)
        if len(entries) > 1:
            names = [entry.qualified for entry in entries]
            choice = " or ".join(f"`{name}`" for name in names)
            raise UnknownToolError(str(name), f"`{name}` is the name of more than one tool; use {choice}", names)
        return entries[0]

    def _listed(self) -> list[tuple[str, Entry]]:
        self._discover_once()
        store = self._store
        return [(store.listed_name(entry), entry) for entry in store]

    def _loaded(self, names: Container[str] | None = None) -> dict[str, Tool]:
        tools: dict[str, Tool] = {}
        for name, entry in self._listed():
            if names is None or name in names:
                with suppress(ToolError):  # it is among the problems
                    tools[name] = entry.load(self._toolsets)
        return tools

    def _tool_of(self, call: ToolCall) -> Tool | Result:
        """Return the tool of a call, or the result of a call that has none."""
        if not isinstance(call, ToolCall):
            raise TypeError(f"a registry calls a ToolCall: registry.call(ToolCall(None, {call!r}, {{...}}))")
        try:
            return self[call.name]
        except UnknownToolError as error:
            return Result.error(str(error), type="unknown_tool", exception=error)
        except ToolError as error:
            return Result.error(str(error), type=error.type, exception=error)


def _tool_named(name: str, source: object) -> Tool:
    """Return the tool of an object under another name; a name with its package, `PACKAGE:NAME`, is its key alone."""
    tools = as_tools(source)
    if len(tools) != 1:
        raise DefinitionError(f"{source!r} has {len(tools)} tools, which cannot all be `{name}`; leave out the name")
    return tools[0] if tools[0].name == name or ":" in str(name) else tools[0].renamed(name)


registry = Registry(auto=True)
