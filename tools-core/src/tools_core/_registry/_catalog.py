"""The plugins that discovery found, under every name they answer to."""

from __future__ import annotations

from tools_core._registry._admission import Admission, illegal
from tools_core._registry._entry_points import EntryPoint, normalize
from tools_core._registry._package import LoadProblem, Plugin
from tools_core._values._errors import UnknownToolError
from tools_core._values._problem import listing, show

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Iterable


class Catalog:
    """Plugins by qualified name, `distribution:name`, and by bare name; the registry's lock guards it."""

    def __init__(self) -> None:
        self.plugins: dict[str, Plugin] = {}  # sorted by distribution and name
        self.notes: dict[str, LoadProblem] = {}
        self.blocked: dict[str, None] = {}
        self._admission = Admission((), ())
        self._declared: dict[str, list[Plugin]] = {}
        self._held: dict[str, list[Plugin]] = {}  # loaded toolsets, by the names of their tools

    def update(self, points: Iterable[EntryPoint], admission: Admission) -> list[Plugin]:
        """Take up what was found, and return the plugins that are new.

        What did not load is tried again; what is refused now is removed, although it was let in before.
        """
        new: list[Plugin] = []
        self._admission = admission
        for name, point in self._legal(points).items():
            known = self.plugins.pop(name, None)
            if admission.refuses(point):
                self.blocked[name] = None
                continue
            self.blocked.pop(name, None)
            locked = admission.locked(point)
            is_same = known is not None and known.point.is_same(point) and known.locked == locked
            if known is not None and is_same and not known.is_broken:
                self.plugins[name] = known
                continue
            self.plugins[name] = Plugin(point, locked)
            if known is None or not known.is_broken:
                new.append(self.plugins[name])
        self._index()
        return new

    def locate(self, name: str) -> tuple[Plugin, str] | None:
        """The plugin that a name leads to, and the bare name.

        Raises: UnknownToolError for a bare name that more than one distribution has.
        """
        distribution, colon, bare = name.rpartition(":")
        owners = self.owners(bare)
        if colon:
            distribution = normalize(distribution)
            declaring = self.plugins.get(f"{distribution}:{bare}")
            holding = (p for p in self._held.get(bare, ()) if p.point.distribution == distribution)
            owner = declaring or next(holding, None)
            return (owner, bare) if owner else None
        if len(owners) > 1:
            names = [f"{plugin.point.distribution}:{bare}" for plugin in owners]
            choice = " or ".join(f"`{each}`" for each in names)
            raise UnknownToolError(name, f"`{bare}` means more than one tool; use {choice}", names)
        return (owners[0], bare) if owners else None

    def owners(self, name: str) -> list[Plugin]:
        """Whose a bare name is: those who declare it, else those whose loaded toolset has it.

        What is declared comes first: the order in which toolsets are loaded must change no tool's meaning.
        """
        return self._declared.get(name) or self._held.get(name) or []

    def toolsets_for(self, name: str) -> list[Plugin]:
        """The plugins whose name begins this one: `fs` for `fs_read_file`, should it be a toolset."""
        distribution, _, bare = name.rpartition(":")
        starts = [bare[:end] for end, char in enumerate(bare) if char == "_"]
        plugins = [plugin for start in starts for plugin in self._declared.get(start, ())]
        return [p for p in plugins if not distribution or p.point.distribution == normalize(distribution)]

    def hold(self, plugin: Plugin) -> None:
        """Make the tools of a loaded toolset known by name, except those that are denied, or that no lock names."""
        distribution = plugin.point.distribution
        is_current = self.plugins.get(plugin.point.qualified) is plugin
        if plugin.tools is None or not plugin.is_toolset or not is_current:
            return
        denied = {name for name in plugin.tools if self._admission.denies(distribution, name)}
        self.blocked.update((f"{distribution}:{name}", None) for name in sorted({*denied, *plugin.unlocked}))
        plugin.tools = {name: tool for name, tool in plugin.tools.items() if name not in denied}
        plugin.is_indexed = True
        for name in plugin.tools:
            holders = self._held.setdefault(name, [])
            if not any(holder.point.distribution == distribution for holder in holders):
                holders.append(plugin)

    def remove(self, plugin: Plugin, name: str) -> None:
        """Remove a plugin, or the one tool of a loaded toolset."""
        if plugin.is_indexed and plugin.tools and name in plugin.tools:
            plugin.tools = {key: tool for key, tool in plugin.tools.items() if key != name}
        else:
            del self.plugins[plugin.point.qualified]
        self._index()

    def names(self, plugin: Plugin, taken: Iterable[str]) -> list[tuple[str, str]]:
        """What a plugin's tools are called, and listed as: the bare name if only theirs, else qualified."""
        found: list[tuple[str, str]] = []
        for name in plugin.names():
            qualified = f"{plugin.point.distribution}:{name}"
            if name not in taken and self.owners(name) == [plugin]:
                found.append((name, name))
            elif self.locate(qualified) == (plugin, name):  # not if another entry of the distribution has it
                found.append((name, qualified))
        return found

    def collisions(self, plugin: Plugin, name: str, others: Iterable[str] = ()) -> list[LoadProblem]:
        """The problem of a name that `others`, or other plugins, have as well."""
        point = plugin.point
        all_others = [*(str(other.point) for other in self.owners(name) if other is not plugin), *others]
        if not all_others:
            return []
        error = f"`{name}` is also the name of {' and '.join(all_others)}"
        qualified = f"{point.distribution}:{name}"
        fix = f"use `{qualified}`, or bar it with ASK_TOOLS_DENY={qualified}, or pip uninstall {point.distribution}"
        return [LoadProblem.of(point, error, fix, name)]

    def refusal(self, name: str) -> LoadProblem | None:
        """Why a tool that a loaded toolset has is not what was locked."""
        distribution, _, bare = name.rpartition(":")
        plugins = self.plugins.values()
        owners = (p for p in plugins if not distribution or p.point.distribution == normalize(distribution))
        return next((plugin.refused[bare] for plugin in owners if bare in plugin.refused), None)

    def unknown(self, name: str) -> UnknownToolError | None:
        """Why a name has no tool, where that is not simply that nobody has it."""
        found = self.locate(name)
        if found and found[0].tools:
            tools = list(found[0].tools)
            return UnknownToolError(name, f"`{name}` is a toolset; its tools are {listing(tools)}", tools)
        blocked = [each for each in self.blocked if name in (each, each.partition(":")[2])]
        if blocked:
            error = f"no tool {show(name)}: {self._admission.words} {listing(blocked)}"
            return UnknownToolError(name, error)
        for plugin in self.toolsets_for(name):
            if plugin.tools is None:
                error = f"no tool {show(name)}; it may be one of a toolset, but {plugin.unavailable()}"
                return UnknownToolError(name, error)
        return None

    def _legal(self, points: Iterable[EntryPoint]) -> dict[str, EntryPoint]:
        found: dict[str, EntryPoint] = {}
        for point in points:
            problem = illegal(point)
            if not problem and found.setdefault(point.qualified, point).value != point.value:
                fix = f"pip install -U {point.distribution}"
                problem = LoadProblem.of(point, "the distribution declares this name twice", fix)
            if problem:
                self.notes[str(problem)] = problem
        return found

    def _index(self) -> None:
        order = sorted(self.plugins.values(), key=lambda each: (each.point.distribution, each.point.name))
        self.plugins = {plugin.point.qualified: plugin for plugin in order}
        self._declared, self._held = {}, {}
        for plugin in order:
            self._declared.setdefault(plugin.point.name, []).append(plugin)
        for plugin in order:
            self.hold(plugin)
