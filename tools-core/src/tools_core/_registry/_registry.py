"""Tools by name: registered in this process, or installed and found through entry points."""

from __future__ import annotations

import os
import threading
from contextlib import suppress

from tools_core._registry._admission import Admission, Selection
from tools_core._registry._catalog import Catalog
from tools_core._registry._entry_points import scan
from tools_core._registry._mapping import ToolMapping
from tools_core._registry._package import LoadProblem, one_line
from tools_core._values._errors import ToolError, UnknownToolError
from tools_core._values._problem import show

TYPE_CHECKING: bool = False  # importing typing costs 4 ms; with a type, jedi reads the block as well
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any, TypeVar

    from tools_core._registry._entry_points import EntryPoint
    from tools_core._registry._lock_file import Lock
    from tools_core._registry._package import Plugin
    from tools_core._tools._tool import Tool

    T = TypeVar("T")


GROUP = "ask_tools.tools"
LOAD_TIMEOUT = 10.0

_FROM_ENVIRONMENT: Any = object()


class Registered:
    """A tool that this process registered itself, and the object it came as."""

    __slots__ = ("source", "tool")

    def __init__(self, tool: Tool, source: object) -> None:
        self.tool = tool
        self.source = source

    def is_reload_of(self, other: Registered) -> bool:
        """Return whether the same definition at module level ran again, as in a notebook."""
        name = getattr(self.source, "__qualname__", "<locals>")
        return "<" not in name and self.origin == other.origin

    @property
    def origin(self) -> str:
        """Where it is defined: `module:qualname`."""
        made = self.source if hasattr(self.source, "__qualname__") else type(self.source)
        return f"{getattr(made, '__module__', '?')}:{getattr(made, '__qualname__', '?')}"


class Registry(ToolMapping):
    """Tools by name: what was registered, in that order, then what was discovered, by distribution and name.

    A discovered tool is imported when it is first used, and not before. `distribution:name` works for each.
    Where two distributions declare one name, it is the only way, and the bare name raises an error that says
    so; what was registered comes first. Safe to use from many threads.

    Args:
        auto: Discover what is installed at the first read.
        load_timeout: Seconds that a plugin may take to be imported, in a thread of its own; None imports it
            in the calling thread, without one. By default `ASK_TOOLS_LOAD_TIMEOUT` (0 for no limit), or 10.
    """

    def __init__(self, *, auto: bool = False, load_timeout: float | None = _FROM_ENVIRONMENT) -> None:
        self._auto = auto
        self._load_timeout = load_timeout
        # Never held while a plugin is imported, so that one that hangs stops nobody else.
        self._lock = threading.RLock()
        self._registered: dict[str, Registered] = {}
        self._catalog = Catalog()

    def __getitem__(self, name: str) -> Tool:
        registered = self._registered.get(name)  # at once: a registered tool comes first in any case
        return super().__getitem__(name) if registered is None else registered.tool

    def register(self, tool: T, *, replace: bool = False) -> T:
        """Add a tool, or all of a toolset, and return the same object: this is a decorator as well.

        Raises: ValueError when another tool has the name and `replace` is not set; DefinitionError for what
        is not a tool.
        """
        from tools_core._tools._as_tools import as_tools  # not needed to list names

        made = {each.name: Registered(each, tool) for each in as_tools(tool)}
        with self._lock:
            fresh = {name: new for name, new in made.items() if not self._has(name, tool)}
            if not replace:
                for name, new in fresh.items():
                    self._check_free(name, new)
            self._registered.update(fresh)
        return tool

    def unregister(self, name: str) -> None:
        """Remove a tool; a discovered one returns with the next `discover`.

        Raises: UnknownToolError
        """
        self._discover_once()
        with self._lock:
            if self._registered.pop(name, None) is None:
                found = self._catalog.locate(name)
                if not found:
                    raise self._unknown(name)
                self._catalog.remove(*found)

    def clear(self) -> None:
        """Forget everything, problems included; what is installed stays unknown until `discover`."""
        with self._lock:
            self._auto = False
            self._registered.clear()
            self._catalog = Catalog()

    def discover(
        self,
        group: str = GROUP,
        *,
        allow: Iterable[str] | None = None,
        deny: Iterable[str] | None = None,
        paths: Iterable[str | os.PathLike[str]] | None = None,
        lock: str | os.PathLike[str] | None = _FROM_ENVIRONMENT,
    ) -> list[str]:
        """Find installed tools by their entry points and return the new names; no plugin is imported.

        Plugins that did not load before get another chance.

        Args:
            group: The group of entry points.
            allow: Wildcard patterns for `distribution:name`, a distribution or a name; what matches none is
                blocked. By default `ASK_TOOLS_ALLOW`, comma-separated: set but empty, it allows nothing.
            deny: Patterns of what is blocked in any case; by default `ASK_TOOLS_DENY`.
            paths: The folders whose metadata is read in place of those of `sys.path`.
            lock: A file that `ask-tools lock` wrote: what it does not name is blocked, and a tool whose definition is
                another one when it is loaded is a problem and cannot be called. By default `ASK_TOOLS_LOCK`; None for
                no lock.

        Raises: ValueError for a lock that cannot be read.
        """
        admission = Admission(allow, deny, _read_lock(lock))
        with self._lock:
            self._auto = False
            new = self._catalog.update(scan(group, paths), admission)
            return [name for plugin in new for name in self._listed(plugin)]

    def subset(
        self,
        *,
        only: Iterable[str] | None = None,
        exclude: Iterable[str] = (),
        prefix: str = "",
        rename: Mapping[str, str] | None = None,
    ) -> Registry:
        """Return a new registry with some of the tools: a snapshot, which later changes here do not reach.

        The tools are loaded now; those that do not load are left out.

        Args:
            only: Names or wildcard patterns (`fs_*`) of the tools wanted; without it, all.
            exclude: Names or patterns of tools that are left out in any case.
            prefix: Goes before each name, except those that `rename` gives.
            rename: New names, as `{"old": "new"}`.

        Raises: ValueError if two tools would have one name; DefinitionError for an invalid name.
        """
        wanted = None if only is None else Selection(only)
        unwanted, names = Selection(exclude), dict(rename or {})
        self._settle(lambda start: wanted is None or wanted.may_begin(start))
        made = Registry()
        for name in self:
            if (wanted is not None and name not in wanted) or name in unwanted:
                continue
            with suppress(ToolError):  # does not load: it is among the problems
                tool = self[name]
                new = names.get(name, prefix + name)
                if new in made._registered:
                    raise ValueError(f"two tools would have the name `{new}`; rename one of them otherwise")
                tool = tool if new == tool.name else tool.renamed(new)
                made._registered[new] = Registered(tool, tool)
        return made

    def discover_subclasses(self, base: type[Tool] | None = None) -> list[type[Tool]]:
        """Register the loaded, concrete subclasses of `base` (by default `Tool`) and return the new ones.

        One that cannot be made without arguments, or whose name is taken, becomes a problem.
        """
        from tools_core._tools._tool import Tool  # not needed to list names

        new: list[type[Tool]] = []
        for cls in _concrete_subclasses(base or Tool):
            with self._lock:
                if self._has(cls.name, cls):
                    continue
            try:
                new.append(self.register(cls))
            # The class's own constructor may raise anything, and one bad class must not hide the others.
            except Exception as error:  # noqa: BLE001
                origin, reason = f"{cls.__module__}:{cls.__qualname__}", one_line(str(error), 300)
                problem = LoadProblem(origin, "", "", reason, "register an instance, or rename it")
                with self._lock:
                    self._catalog.notes[str(problem)] = problem
        return new

    @property
    def problems(self) -> list[LoadProblem]:
        """What is wrong with installed tools, as far as is known: a plugin is judged when it is loaded."""
        self._discover_once()
        with self._lock:
            found = list(self._catalog.notes.values())
            for plugin in self._catalog.plugins.values():
                for name in plugin.names():
                    registered = self._registered.get(name)
                    own = registered is None or plugin.point.refers_to(registered.source)
                    others = [] if own or registered is None else [registered.origin]
                    found += self._catalog.collisions(plugin, name, others)
                found += plugin.problems()
            return found

    @property
    def blocked(self) -> list[str]:
        """Return the tools that the allow and deny lists and the lock keep out, as `distribution:name`."""
        self._discover_once()
        with self._lock:
            return sorted(self._catalog.blocked)

    def origin(self, name: str) -> EntryPoint | None:
        """The entry point behind a name, without importing it; None for a tool that was registered."""
        self._discover_once()
        with self._lock:
            found = None if name in self._registered else self._catalog.locate(name)
            return found[0].point if found else None

    def __iter__(self) -> Iterator[str]:
        self._discover_once()
        with self._lock:
            found = [name for plugin in self._catalog.plugins.values() for name in self._listed(plugin)]
            return iter([*self._registered, *found])

    def __repr__(self) -> str:
        return f"<Registry of {len(self._registered)} registered and {len(self._catalog.plugins)} discovered>"

    def _discover_once(self) -> None:
        if self._auto:
            with self._lock:
                if self._auto:
                    self.discover()

    def _listed(self, plugin: Plugin) -> list[str]:
        names = self._catalog.names(plugin, self._registered)
        return [
            listed
            for name, listed in names
            if name not in self._registered or not plugin.point.refers_to(self._registered[name].source)
        ]

    def _has(self, name: str, source: object) -> bool:
        known = self._registered.get(name)
        if known is not None:
            return known.source is source
        return any(plugin.holds(name, source) for plugin in self._catalog.owners(name))

    def _check_free(self, name: str, new: Registered) -> None:
        known = self._registered.get(name)
        if known is not None and new.is_reload_of(known):
            return
        holders = [known.origin] if known else [str(plugin.point) for plugin in self._catalog.owners(name)]
        if holders:
            raise ValueError(
                f"`{new.origin}` cannot be registered as `{name}`: {' and '.join(holders)} has that name; "
                f"give one of them another name, or register with replace=True"
            )

    def _search(self, name: str) -> Registered | tuple[Plugin, str] | None:
        """What a name leads to; the toolsets that it may belong to are loaded, the tool itself is not."""
        self._discover_once()
        with self._lock:
            found = self._registered.get(name) or self._catalog.locate(name)
            if isinstance(found, Registered) or (found and found[0].point.name == found[1]):
                return found
            # All of them, even if one that is loaded has it: the name may turn out to mean two.
            toolsets = [plugin for plugin in self._catalog.toolsets_for(name) if not plugin.is_known]
        for plugin in toolsets:
            self._load(plugin)
        with self._lock:
            return self._catalog.locate(name)

    def _find(self, name: str) -> Tool | None:
        found = self._search(name)
        if found is None:
            with self._lock:
                refusal = self._catalog.refusal(name)
            if refusal:
                raise ToolError(f"{refusal}", "unavailable")
            return None
        if isinstance(found, Registered):
            return found.tool
        plugin, bare = found
        self._load(plugin)
        if plugin.tools is None:
            raise plugin.unavailable() from plugin.cause
        return plugin.tools.get(bare)

    def _knows(self, name: str) -> bool:
        try:
            found = self._search(name)
        except UnknownToolError:  # it means two
            return False
        if isinstance(found, tuple):
            plugin, bare = found
            return plugin.tools is None or bare in plugin.tools
        return found is not None

    def _settle(self, may_begin: Callable[[str], bool]) -> None:
        self._discover_once()
        with self._lock:
            plugins = list(self._catalog.plugins.values())
        for plugin in plugins:
            if may_begin(f"{plugin.point.name}_") or may_begin(f"{plugin.point.qualified}_"):
                self._load(plugin)

    def _load(self, plugin: Plugin) -> None:
        plugin.load(self._limit())
        if plugin.is_toolset and not plugin.is_indexed:
            with self._lock:
                self._catalog.hold(plugin)

    def _limit(self) -> float | None:
        limit = self._load_timeout
        if limit is _FROM_ENVIRONMENT:
            text = os.environ.get("ASK_TOOLS_LOAD_TIMEOUT") or str(LOAD_TIMEOUT)
            try:
                limit = float(text)
            except ValueError:
                raise ValueError(f"ASK_TOOLS_LOAD_TIMEOUT is a number of seconds, not {show(text)}") from None
        return min(limit, threading.TIMEOUT_MAX) if limit and limit > 0 else None

    def _unknown(self, name: object) -> UnknownToolError:
        with self._lock:
            special = self._catalog.unknown(name) if isinstance(name, str) else None
        return special or super()._unknown(name)


def _read_lock(path: str | os.PathLike[str] | None) -> Lock | None:
    if path is _FROM_ENVIRONMENT:
        path = os.environ.get("ASK_TOOLS_LOCK")
    if path is None:
        return None
    from tools_core._registry._lock_file import read  # brings json: 3 ms for who has a lock

    return read(path)


def _concrete_subclasses(base: type[Tool]) -> list[type[Tool]]:
    """Sorted by module and name; of a class that was reloaded only the newest."""
    found: dict[tuple[str, str, str], type[Tool]] = {}
    waiting = [base]
    while waiting:
        for cls in type.__subclasses__(waiting.pop(0)):
            waiting.append(cls)
            ours = cls.__module__.partition(".")[0] == "tools_core"
            abstract = cls._is_abstract or getattr(cls, "__abstractmethods__", None)  # pyright: ignore[reportPrivateUsage]
            if not ours and not abstract:
                found[cls.__module__, cls.__qualname__, cls.name] = cls
    return [found[key] for key in sorted(found)]


registry = Registry(auto=True)
