"""`ask-tools.lock`: the tools that are trusted, and as what, and the plugins; `ask-tools lock` writes it.

    {"version": 1,
     "distributions": {"tools-weather": "1.0", "acme-hooks": "2.1"},
     "plugins": {"acme-hooks:guard": "guard = acme_hooks:Guard"},
     "tools": {"tools-weather:forecast": {"entry_point": "forecast = tools_weather:forecast",
                                          "sha256": "...", "definition": {...}}}}

A definition is kept beside its hash, so that drift can be told as what was and what is: of the hash alone nobody could
say which words of a description are new, since the package as it was is gone. The file is sorted and in ASCII: a change
to it can be reviewed, and what hides in a text is seen.
"""

from __future__ import annotations

import json
import os
from hashlib import sha256

from tools_core._registry._replace_file import replace

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from tools_core._registry._entry_points import EntryPoint
    from tools_core._registry._mapping import ToolMapping
    from tools_core._tools._tool import Tool

FILE = "ask-tools.lock"
PLUGINS = "ask_tools.plugins"  # the group of those for the hooks of tools-runtime
ABSENT: Any = object()  # one side of a change, where there is nothing
_VERSION = 1
_FIELDS = {"entry_point": str, "sha256": str, "definition": dict}


class LockError(ValueError):
    """A lock that cannot be read, or is none: nothing is admitted by it."""


class LockedTool:
    """A tool as it was trusted: its line among the entry points, its definition, and the hash of that."""

    __slots__ = ("definition", "entry_point", "sha256")

    def __init__(self, entry_point: str, sha256: str, definition: Mapping[str, Any]) -> None:
        self.entry_point = entry_point
        self.sha256 = sha256
        self.definition = definition


class Lock:
    """Versions by distribution; by `distribution:name` tools, and of plugins their lines among the entry points."""

    __slots__ = ("_trusted", "distributions", "plugins", "tools")

    def __init__(
        self, distributions: Mapping[str, str], tools: Mapping[str, LockedTool], plugins: Mapping[str, str]
    ) -> None:
        self.distributions = distributions
        self.tools = tools
        self.plugins = plugins
        self._trusted: dict[tuple[str, str], dict[str, str]] = {}  # by distribution and entry point
        for qualified, tool in tools.items():
            distribution, _, name = qualified.rpartition(":")
            self._trusted.setdefault((distribution, tool.entry_point), {})[name] = tool.sha256

    def trusts(self, point: EntryPoint) -> bool:
        """Whether an entry point may be imported: a plugin that is named, or what has a tool that is."""
        if point.group == PLUGINS:
            return self.plugins.get(point.qualified) == _line(point)
        return bool(self.hashes(point))

    def hashes(self, point: EntryPoint) -> Mapping[str, str]:
        """The hashes of the tools that an entry point is trusted to have, by name; none if it is not trusted."""
        return self._trusted.get((point.distribution, _line(point)), {})


class Change:
    """One place where two definitions differ; `ABSENT` stands for nothing."""

    __slots__ = ("new", "old", "path")

    def __init__(self, path: str, old: Any, new: Any) -> None:
        self.path = path
        self.old = old
        self.new = new


class Drift:
    """What is not as it was locked: a `new`, `gone` or `changed` tool or plugin, or a distribution's `version`."""

    __slots__ = ("changes", "kind", "name")

    def __init__(self, kind: str, name: str, *changes: Change) -> None:
        self.kind = kind
        self.name = name
        self.changes = changes


def locked_definition(tool: Tool, name: str) -> dict[str, Any]:
    """What of a tool is locked: its definition, and that it requires approval, which nobody may drop unnoticed."""
    approval = {"requires_approval": True} if tool.requires_approval else {}
    return {**tool.definition, "name": name, **approval}


def hash_of(definition: Mapping[str, Any]) -> str:
    """The SHA-256 of canonical JSON: sorted keys, no white space, ASCII; ValueError if it is none."""
    try:
        text = json.dumps(definition, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"its definition is no JSON: {error}") from error
    return sha256(text.encode("ascii")).hexdigest()


def lock_of(registry: ToolMapping, plugins: Iterable[EntryPoint] = ()) -> tuple[Lock, dict[str, str]]:
    """Load every discovered tool and lock it as it is; those that cannot be locked are left out, with the reason.

    Of plugins it is their place that is locked, and none is imported: what they do cannot be read from a definition.
    """
    distributions: dict[str, str] = {}
    tools: dict[str, LockedTool] = {}
    refused: dict[str, str] = {}
    for listed, tool in registry.items():
        point = registry.origin(listed)
        if point is None:  # registered by this process, which answers for it
            continue
        name = listed.rpartition(":")[2]
        definition = locked_definition(tool, name)
        try:
            digest = hash_of(definition)
        except ValueError as error:
            refused[f"{point.distribution}:{name}"] = str(error)
            continue
        distributions[point.distribution] = point.version
        tools[f"{point.distribution}:{name}"] = LockedTool(_line(point), digest, definition)
    named: dict[str, str] = {}
    for point in plugins:
        distributions[point.distribution] = point.version
        named[point.qualified] = _line(point)
    return Lock(distributions, tools, named), refused


def read(path: str | os.PathLike[str]) -> Lock:
    """Read a lock; LockError says why it cannot be."""
    where = os.fspath(path)
    if not where:
        raise LockError("no lock is named: give ASK_TOOLS_LOCK a file, or unset it")
    try:
        with open(where, encoding="utf-8") as file:
            value = json.load(file, object_pairs_hook=_unique)
    except OSError as error:
        raise LockError(f"the lock {where} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise LockError(f"the lock {where} is no JSON: {error}") from error
    problem = _problem(value)
    if problem:
        raise LockError(f"{where} is no lock of this version: {problem}")
    tools = {name: LockedTool(**tool) for name, tool in value["tools"].items()}
    return Lock(value["distributions"], tools, value.get("plugins", {}))


def write(path: str | os.PathLike[str], lock: Lock) -> None:
    """Write a lock, whole or not at all; OSError when that is not possible."""
    tools = {name: {field: getattr(tool, field) for field in _FIELDS} for name, tool in lock.tools.items()}
    value = {"version": _VERSION, "distributions": lock.distributions, "plugins": lock.plugins, "tools": tools}
    replace(path, (json.dumps(value, indent=2, sort_keys=True) + "\n").encode("ascii"))


def compare(old: Lock, new: Lock) -> list[Drift]:
    """Everything that is not as it was, sorted by name."""
    found = [
        Drift("version", name, Change("version", version, new.distributions[name]))
        for name, version in old.distributions.items()
        if new.distributions.get(name, version) != version
    ]
    for name in old.tools.keys() | new.tools.keys():
        before, after = old.tools.get(name), new.tools.get(name)
        if before is None or after is None:
            found.append(Drift("new" if before is None else "gone", name))
        elif changes := list(_changes_of(before, after)):
            found.append(Drift("changed", name, *changes))
    for name in old.plugins.keys() | new.plugins.keys():
        line, now = old.plugins.get(name, ABSENT), new.plugins.get(name, ABSENT)
        if line is ABSENT or now is ABSENT:
            found.append(Drift("new" if line is ABSENT else "gone", f"plugin {name}"))
        elif line != now:
            found.append(Drift("changed", f"plugin {name}", Change("entry_point", line, now)))
    return sorted(found, key=lambda drift: (drift.name, drift.kind))


def _changes_of(old: LockedTool, new: LockedTool) -> Iterator[Change]:
    if old.entry_point != new.entry_point:
        yield Change("entry_point", old.entry_point, new.entry_point)
    changes = list(_differences(old.definition, new.definition, ""))
    yield from changes
    if old.sha256 != new.sha256 and not changes:  # it was edited by hand
        yield Change("sha256", old.sha256, new.sha256)


def _differences(old: Any, new: Any, path: str) -> Iterator[Change]:
    """The places where two JSON values differ, as deep as they can be told."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            part = f".{key}" if key.isidentifier() else f"[{json.dumps(key)}]"
            yield from _differences(old.get(key, ABSENT), new.get(key, ABSENT), (path + part).removeprefix("."))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from _differences(before, after, f"{path}[{index}]")
    elif old is ABSENT or new is ABSENT or json.dumps(old, sort_keys=True) != json.dumps(new, sort_keys=True):
        yield Change(path, old, new)  # compared as text: 1, 1.0 and true are equal in Python


def _line(point: EntryPoint) -> str:
    return f"{point.name} = {point.value}"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Who reviews a file sees the first of two equal keys, and JSON would take the last."""
    made = dict(pairs)
    if len(made) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} is there twice")
    return made


def _problem(value: Any) -> str | None:
    """What keeps a JSON value from being a lock."""
    if not isinstance(value, dict) or value.get("version") != _VERSION:
        return f"it does not say version {_VERSION}"
    distributions, tools, plugins = value.get("distributions"), value.get("tools"), value.get("plugins", {})
    if not isinstance(distributions, dict) or not all(isinstance(each, str) for each in distributions.values()):
        return "distributions are names with versions"
    if not isinstance(tools, dict):
        return "tools are missing"
    for name, tool in tools.items():
        fields = tool if isinstance(tool, dict) else {}
        kinds = {field: type(content) for field, content in fields.items()}
        if kinds != _FIELDS or name.rpartition(":")[0] not in distributions:
            return f"{name} needs {', '.join(_FIELDS)} and a distribution"
    if not isinstance(plugins, dict):
        return "plugins are names with entry points"
    for name, line in plugins.items():
        if not isinstance(line, str) or name.rpartition(":")[0] not in distributions:
            return f"{name} needs an entry point and a distribution"
    return None
