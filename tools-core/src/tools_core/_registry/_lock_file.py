"""`ask-tools.lock`: the trusted tools with their definitions; `ask-tools lock` writes it.

    {"version": 1,
     "distributions": {"tools-weather": "1.0"},
     "tools": {"tools-weather:forecast": {"entry_point": "forecast = tools_weather:forecast",
                                          "sha256": "...", "definition": {...}}}}

The definitions are for reviewers, who see which words have changed; discovery compares the hashes. The file is sorted
and ASCII, so that a diff shows every change, invisible characters included.
"""

from __future__ import annotations

import json
import os
from hashlib import sha256

from tools_core._registry._replace_file import replace

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tools_core._registry._entry_points import EntryPoint
    from tools_core._registry._mapping import ToolMapping
    from tools_core._tools._tool import Tool

FILE = "ask-tools.lock"
_VERSION = 1
_FIELDS = {"entry_point": str, "sha256": str, "definition": dict}


class LockError(ValueError):
    """A file that cannot be read, or is not a lock."""


class LockedTool:
    """A tool when it was locked: its entry point, its definition, and the hash of the definition."""

    __slots__ = ("definition", "entry_point", "sha256")

    def __init__(self, entry_point: str, sha256: str, definition: Mapping[str, Any]) -> None:
        self.entry_point = entry_point
        self.sha256 = sha256
        self.definition = definition


class Lock:
    """Versions by distribution, and tools by `distribution:name`."""

    __slots__ = ("_trusted", "distributions", "tools")

    def __init__(self, distributions: Mapping[str, str], tools: Mapping[str, LockedTool]) -> None:
        self.distributions = distributions
        self.tools = tools
        self._trusted: dict[tuple[str, str], dict[str, str]] = {}  # by distribution and entry point
        for qualified, tool in tools.items():
            distribution, _, name = qualified.rpartition(":")
            self._trusted.setdefault((distribution, tool.entry_point), {})[name] = tool.sha256

    def trusts(self, point: EntryPoint) -> bool:
        """Return whether an entry point may be imported."""
        return bool(self.hashes(point))

    def hashes(self, point: EntryPoint) -> Mapping[str, str]:
        """Return the hashes of the locked tools of an entry point by name; empty if it is not locked."""
        return self._trusted.get((point.distribution, _line(point)), {})


def locked_definition(tool: Tool, name: str) -> dict[str, Any]:
    """Return the locked part of a tool: its definition, and that it requires approval."""
    approval = {"requires_approval": True} if tool.requires_approval else {}
    return {**tool.definition, "name": name, **approval}


def hash_of(definition: Mapping[str, Any]) -> str:
    """Return the SHA-256 of canonical JSON: sorted keys, no white space, ASCII; ValueError if it is not JSON."""
    try:
        text = json.dumps(definition, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"its definition is not JSON: {error}") from error
    return sha256(text.encode("ascii")).hexdigest()


def lock_of(registry: ToolMapping) -> tuple[Lock, dict[str, str]]:
    """Load every discovered tool; return a lock, and the reasons why others cannot be locked."""
    distributions: dict[str, str] = {}
    tools: dict[str, LockedTool] = {}
    refused: dict[str, str] = {}
    for listed, tool in registry.items():
        point = registry.origin(listed)
        if point is None:  # registered by this process
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
    return Lock(distributions, tools), refused


def read(path: str | os.PathLike[str]) -> Lock:
    """Read a lock; LockError if that is not possible."""
    where = os.fspath(path)
    if not where:
        raise LockError("ASK_TOOLS_LOCK is empty: set it to a file, or unset it")
    try:
        with open(where, encoding="utf-8") as file:
            value = json.load(file, object_pairs_hook=_unique)
    except OSError as error:
        raise LockError(f"the lock {where} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise LockError(f"the lock {where} is not JSON: {error}") from error
    problem = _problem(value)
    if problem:
        raise LockError(f"{where} is not a lock of this version: {problem}")
    tools = {name: LockedTool(**tool) for name, tool in value["tools"].items()}
    return Lock(value["distributions"], tools)


def write(path: str | os.PathLike[str], lock: Lock) -> None:
    """Write a lock in one step; OSError if that is not possible."""
    tools = {name: {field: getattr(tool, field) for field in _FIELDS} for name, tool in lock.tools.items()}
    value = {"version": _VERSION, "distributions": lock.distributions, "tools": tools}
    replace(path, (json.dumps(value, indent=2, sort_keys=True) + "\n").encode("ascii"))


def _line(point: EntryPoint) -> str:
    return f"{point.name} = {point.value}"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse repeated keys: a reviewer would see the first one, and JSON uses the last."""
    made = dict(pairs)
    if len(made) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} is given twice")
    return made


def _problem(value: Any) -> str | None:
    """Return why a JSON value is not a lock; None if it is one."""
    if not isinstance(value, dict) or value.get("version") != _VERSION:
        return f"its version is not {_VERSION}"
    distributions, tools = value.get("distributions"), value.get("tools")
    if not isinstance(distributions, dict) or not all(isinstance(each, str) for each in distributions.values()):
        return "distributions must be names with versions"
    if not isinstance(tools, dict):
        return "tools are missing"
    for name, tool in tools.items():
        fields = tool if isinstance(tool, dict) else {}
        kinds = {field: type(content) for field, content in fields.items()}
        if kinds != _FIELDS or name.rpartition(":")[0] not in distributions:
            return f"{name} needs {', '.join(_FIELDS)} and a distribution"
    return None
