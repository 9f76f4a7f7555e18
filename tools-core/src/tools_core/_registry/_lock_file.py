"""`ask-tools.lock`: the trusted tools with their definitions; `ask-tools lock` writes it.

    {"version": 1,
     "distributions": {"tools-weather": "1.0"},
     "tools": {"tools-weather:forecast": {"entry_point": "forecast = tools_weather:forecast",
                                          "sha256": "...", "definition": {...}}}}

Reviewers read the definitions; discovery compares the hashes. The file is sorted and ASCII, so that a diff shows every
change, invisible characters included.
"""

from __future__ import annotations

import json
import os
from hashlib import sha256

from tools_core._registry._replace_file import replace

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from tools_core._registry._entry_points import EntryPoint
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

    __slots__ = ("distributions", "tools")

    def __init__(self, distributions: Mapping[str, str], tools: Mapping[str, LockedTool]) -> None:
        self.distributions = distributions
        self.tools = tools

    def digest(self, point: EntryPoint) -> str | None:
        """Return the hash of an entry point's definition; None if the entry point is not locked."""
        tool = self.tools.get(point.qualified)
        return tool.sha256 if tool is not None and tool.entry_point == _line(point) else None


def lock_of(discovered: Iterable[tuple[EntryPoint, Tool]]) -> tuple[Lock, dict[str, str]]:
    """Return a lock of tools, and the reasons why some of them cannot be locked, by qualified name."""
    distributions: dict[str, str] = {}
    tools: dict[str, LockedTool] = {}
    refused: dict[str, str] = {}
    for point, tool in discovered:
        definition = locked_definition(tool)
        try:
            tools[point.qualified] = LockedTool(_line(point), hash_of(definition), definition)
            distributions[point.distribution] = point.version
        except ValueError as error:
            refused[point.qualified] = str(error)
    return Lock(distributions, tools), refused


def locked_definition(tool: Tool) -> dict[str, Any]:
    """Return the locked part of a tool: its definition, and that it requires approval."""
    approval = {"requires_approval": True} if tool.requires_approval else {}
    return {**tool.definition, **approval}


def hash_of(definition: Mapping[str, Any]) -> str:
    """Return the SHA-256 of canonical JSON: sorted keys, no white space, ASCII; ValueError if it is not JSON."""
    try:
        text = json.dumps(definition, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"its definition is not JSON: {error}") from error
    return sha256(text.encode("ascii")).hexdigest()


def read(path: str | os.PathLike[str]) -> Lock:
    """Read a lock; LockError if that is not possible."""
    where = os.fspath(path)
    try:
        with open(where, encoding="utf-8") as file:
            value = json.load(file)
    except OSError as error:
        raise LockError(f"the lock {where} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise LockError(f"the lock {where} is not JSON: {error}") from error
    problem = _problem(value)
    if problem:
        raise LockError(f"{where} is not a lock of this version: {problem}")
    return Lock(value["distributions"], {name: LockedTool(**tool) for name, tool in value["tools"].items()})


def write(path: str | os.PathLike[str], lock: Lock) -> None:
    """Write a lock in one step; OSError if that is not possible."""
    tools = {name: {field: getattr(tool, field) for field in _FIELDS} for name, tool in lock.tools.items()}
    value = {"version": _VERSION, "distributions": lock.distributions, "tools": tools}
    replace(path, (json.dumps(value, indent=2, sort_keys=True) + "\n").encode("ascii"))


def _line(point: EntryPoint) -> str:
    return f"{point.name} = {point.value}"


def _problem(value: Any) -> str | None:
    """Return why a JSON value is not a lock; None if it is one."""
    if not isinstance(value, dict) or value.get("version") != _VERSION:
        return f"its version is not {_VERSION}"
    for part in ("distributions", "tools"):
        if not isinstance(value.get(part), dict):
            return f"{part} are missing"
    for name, tool in value["tools"].items():
        fields = tool if isinstance(tool, dict) else {}
        if {field: type(content) for field, content in fields.items()} != _FIELDS:
            return f"{name} needs {', '.join(_FIELDS)}"
    return None
