"""`Store`: the entries of a registry by name; two or more entries of a name are a collision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace as replace_fields

from tools_core._registry._discovery import Discovery
from tools_core._registry._entry import Entry, LoadProblem, origin_of
from tools_core._registry._patterns import normalize


class Store:
    """Entries by name, at most one of them registered. It is copied for a change, so that reading needs no lock."""

    def __init__(self, entries: dict[str, list[Entry]] | None = None) -> None:
        self._entries = entries or {}

    def __iter__(self) -> Iterator[Entry]:
        """Iterate over the registered entries, in order, then over the others by distribution and name."""
        entries = [entry for entries in self._entries.values() for entry in entries]
        discovered = [entry for entry in entries if not entry.is_registered]
        yield from (entry for entry in entries if entry.is_registered)
        yield from sorted(discovered, key=lambda entry: (entry.distribution, entry.name))

    def named(self, name: str) -> list[Entry]:
        """Return the entries that a bare or qualified name stands for; more than one for an ambiguous name."""
        distribution, _, bare_name = name.rpartition(":")
        if distribution and name not in self._entries:
            return [
                entry for entry in self._entries.get(bare_name, ()) if entry.distribution == normalize(distribution)
            ]
        entries = self._entries.get(name, [])
        return [entry for entry in entries if entry.is_registered] or sorted(entries, key=lambda entry: entry.qualified)

    def listed_name(self, entry: Entry) -> str:
        """Return the name that an entry is listed with: the qualified one if the bare one is another's."""
        return entry.name if entry.is_registered or self._entries[entry.name] == [entry] else entry.qualified

    def problems(self) -> Iterator[LoadProblem]:
        """Yield the problems of loaded tools, and of discovered tools that share a name."""
        for entry in self:
            others = [other.origin for other in self._entries[entry.name] if other is not entry]
            if others and entry.point and not entry.is_registered:
                error = f"`{entry.name}` is also the name of {' and '.join(others)}"
                fix = f"use `{entry.qualified}`, or block it: ASK_TOOLS_DENY={entry.qualified}"
                yield LoadProblem.of(entry.point, error, fix)
            if entry.problem:
                yield entry.problem

    def with_registered(self, new: list[Entry], *, replace: bool) -> Store:
        """Return a store with the entries of a registered object; ValueError if a name is taken."""
        entries = dict(self._entries)
        for entry in new if not replace else ():
            for other in entries.get(entry.name, ()):
                if other.is_registered and not (other.is_of(entry.source) or entry.is_reload_of(other)):
                    raise ValueError(
                        f"`{origin_of(entry.source)}` cannot be registered as `{entry.name}`: the name is taken by "
                        f"`{origin_of(other.source)}`; give one of them another name, or register with replace=True"
                    )
        for entry in new:
            same_name = entries.get(entry.name, [])
            merged = next((other for other in same_name if other.is_of(entry.source)), entry)
            if not any(other.is_registered for other in same_name):
                entries.pop(entry.name, None)  # the order of names is that of registration
            entries[entry.name] = [merged, *(o for o in same_name if o is not merged and not o.is_registered)]
            merged.register(entry)
        return Store(entries)

    def with_discovered(self, discovery: Discovery) -> tuple[Store, list[Entry]]:
        """Return a store with the result of a discovery, and the entries that are new or whose entry point changed."""
        discovered = {entry.qualified: entry for entry in discovery.entries}
        entries: dict[str, list[Entry]] = {}
        for entry in (entry for entries in self._entries.values() for entry in entries):
            update = discovered.get(entry.qualified) if entry.point else None
            is_removed = entry.qualified in discovery.blocked or entry.search == discovery.search
            if update and (update.point, update.digest) == (entry.point, entry.digest):
                del discovered[entry.qualified]
                entry.problem = entry.problem if entry.tool else None  # the next use loads a broken tool again
            elif update or (entry.point and is_removed):
                if not (entry.is_registered and entry.tool):
                    continue
                entry = replace_fields(entry, point=None)  # noqa: PLW2901
            entries.setdefault(entry.name, []).append(entry)
        new: list[Entry] = []
        for entry in discovered.values():
            same_name = entries.setdefault(entry.name, [])
            index = next((i for i, other in enumerate(same_name) if entry.is_of(other.source)), None)
            if index is not None:  # the object is registered
                same_name[index] = replace_fields(same_name[index], point=entry.point, search=entry.search)
                continue
            same_name.append(entry)
            if not any(other.point == entry.point for other in self.named(entry.qualified)):
                new.append(entry)
        return Store(entries), new

    def without(self, entry: Entry) -> Store:
        """Return a store without an entry."""
        others = [other for other in self._entries.get(entry.name, ()) if other is not entry]
        entries = {**self._entries, entry.name: others}
        return Store({name: entries[name] for name in entries if entries[name]})
