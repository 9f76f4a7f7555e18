"""`ask-tools.lock`: the trusted tools with their definitions; `ask-tools lock` writes it.

    {"version": 1,
     "distributions": {"tools-weather": "1.0", "tools-runtime": "0.1"},
     "tools": {"tools-weather:forecast": {"entry_point": "forecast = tools_weather:forecast",
                                          "sha256": "...", "definition": {...}}}}

Reviewers read the definitions; discovery compares the hashes. The file is sorted and ASCII, so that a diff shows every
change, invisible characters included.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_core._registry._entry_points import EntryPoint
from tools_core.files import replace

if TYPE_CHECKING:  # commands that read a lock need no tools
    from tools_core._tools._tool import Tool

_VERSION = 1


class LockError(ValueError):
    """A file that cannot be read, or is not a lock."""


class LockedTool(NamedTuple):
    """A tool when it was locked: its entry point, the hash of its definition, and the definition."""

    entry_point: str
    sha256: str
    definition: Mapping[str, Any]


class Lock(NamedTuple):
    """Versions by distribution, also of those with commands and plugins alone, and tools by `distribution:name`."""

    distributions: dict[str, str]
    tools: dict[str, LockedTool]

    def digest(self, point: EntryPoint) -> str | None:
        """Return the hash of an entry point's definition; None if the entry point is not locked."""
        tool = self.tools.get(point.qualified)
        return tool.sha256 if tool is not None and tool.entry_point == _line(point) else None


def locked_tool(point: EntryPoint, tool: Tool) -> LockedTool:
    """Return the part of a lock for a tool; ValueError if its definition is not JSON."""
    definition = locked_definition(tool)
    return LockedTool(_line(point), hash_of(definition), definition)


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
    location = os.fspath(path)
    try:
        with open(location, encoding="utf-8-sig") as file:
            value = json.load(file)
        if value["version"] != _VERSION:
            raise ValueError(f"its version is {value['version']}, not {_VERSION}")  # noqa: TRY301  (reported as any invalid file)
        tools = {name: LockedTool(**tool) for name, tool in value["tools"].items()}
        return Lock(dict(value["distributions"]), tools)
    except OSError as error:
        raise LockError(f"the lock {location} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise LockError(f"the lock {location} is not valid: it is not UTF-8") from error
    except json.JSONDecodeError as error:
        raise LockError(f"the lock {location} is not valid: it is not JSON: {error}") from error
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise LockError(f"the lock {location} is not valid: {error!r}") from error


def write(path: str | os.PathLike[str], lock: Lock) -> None:
    """Write a lock in one step; OSError if that is not possible."""
    tools = {name: tool._asdict() for name, tool in lock.tools.items()}
    value = {"version": _VERSION, "distributions": lock.distributions, "tools": tools}
    replace(path, (json.dumps(value, indent=2, sort_keys=True) + "\n").encode("ascii"))


def _line(point: EntryPoint) -> str:
    return f"{point.name} = {point.value}"
