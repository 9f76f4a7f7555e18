"""`Store`: the entries of a registry, found by name. It is copied for a change, so that reading needs no lock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace as replace_fields
from functools import cached_property

from tools_core._registry._discovery import Discovery
from tools_core._registry._entry import Entry, LoadProblem, origin_of
from tools_core._registry._patterns import normalize


class Store:
    """Registered entries in their order, then discovered ones by distribution and name.

    A registered object and the entry point that names it are one entry.
    """

    def __init__(self, registered: Mapping[str, Entry] | None = None, discovery: Discovery | None = None) -> None:
        self.registered = registered or {}
        self.discovery = discovery or Discovery()

    @cached_property
    def _entries(self) -> list[Entry]:
        others = sorted(self.discovery.entries, key=lambda entry: entry.qualified)
        entries: list[Entry] = []
        for entry in self.registered.values():
            twin = next((other for other in others if other.name == entry.name and other.is_of(entry.source)), None)
            if twin is None:
                entries.append(entry)
            else:
                others.remove(twin)
                is_locked = twin.digest is not None  # then the object of the entry point is loaded and compared
                twin = replace_fields(twin, source=entry.source, tool=None if is_locked else entry.tool, problem=None)
                entries.append(twin)
        return [*entries, *others]

    @cached_property
    def _names(self) -> dict[str, list[Entry]]:
        names: dict[str, list[Entry]] = {}
        for entry in self._entries:
            if entry.point:
                names[entry.qualified] = [entry]
            same_name = names.setdefault(entry.name, [])
            if not (same_name and same_name[0].is_registered):
                same_name.append(entry)
        return names

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    def named(self, name: str) -> list[Entry]:
        """Return the entries that a bare or qualified name stands for; more than one for an ambiguous name."""
        distribution, colon, bare_name = name.rpartition(":")
        return self._names.get(name) or self._names.get(f"{normalize(distribution)}{colon}{bare_name}", [])

    def listed_name(self, entry: Entry) -> str:
        """Return the name that an entry is listed with: the qualified one if the bare one is another's."""
        return entry.name if self._names[entry.name] == [entry] else entry.qualified

    def problems(self) -> Iterator[LoadProblem]:
        """Yield the problems of packages, of loaded tools, and of discovered tools that share a name."""
        yield from self.discovery.problems
        for entry in self:
            others = [other.origin for other in self._names[entry.name] if other is not entry]
            if others and entry.point:
                error = f"`{entry.name}` is also the name of {' and '.join(others)}"
                fix = f"use `{entry.qualified}`, or block it: ASK_TOOLS_DENY={entry.qualified}"
                yield LoadProblem.of(entry.point, error, fix)
            if entry.problem:
                yield entry.problem

    def with_registered(self, new: list[Entry], *, replace: bool) -> Store:
        """Return a store with the entries of a registered object; ValueError if a name is taken."""
        registered = dict(self.registered)
        for entry in new:
            other = registered.setdefault(entry.name, entry)
            if other.source is entry.source:
                continue
            if not (replace or entry.is_reload_of(other)):
                raise ValueError(
                    f"`{origin_of(entry.source)}` cannot be registered as `{entry.name}`: the name is taken by "
                    f"`{origin_of(other.source)}`; give one of them another name, or register with replace=True"
                )
            registered[entry.name] = entry
        return Store(registered, self.discovery)

    def with_discovery(self, discovery: Discovery) -> tuple[Store, list[Entry]]:
        """Return a store with the result of a discovery, and the entries that are new; loaded tools stay loaded."""
        previous = {entry.point: entry for entry in self.discovery.entries}
        entries: list[Entry] = []
        for entry in discovery.entries:
            old = previous.get(entry.point)
            if old and old.digest == entry.digest and (old.tool or not old.problem):  # a broken tool is loaded again
                entry = old  # noqa: PLW2901
            entries.append(entry)
        store = Store(self.registered, replace_fields(discovery, entries=entries))
        return store, [entry for entry in store if not entry.is_registered and entry.point not in previous]

    def without(self, entry: Entry) -> Store:
        """Return a store without an entry."""
        registered = {name: other for name, other in self.registered.items() if other.source is not entry.source}
        others = [other for other in self.discovery.entries if other.point != entry.point]
        return Store(registered, replace_fields(self.discovery, entries=others))
