"""The facts about one call that rules match and approvals depend on, and the decision about it."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tools_core import Effects
from tools_runtime._events import PolicyError

if TYPE_CHECKING:
    from tools_core import Context, Tool, ToolCall

Outcome = Literal["allow", "ask", "deny"]
Scope = Literal["once", "run", "project"]

STRICTNESS: Mapping[Outcome, int] = {"allow": 0, "ask": 1, "deny": 2}
SCOPES: Sequence[Scope] = ("once", "run", "project")
UNKNOWN = object()  # the value of a missing argument without a default in the schema

_IS_PATH = re.compile(r'"format": "(file-|directory-)?path"')  # pydantic writes the longer names


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome for one call, with its reasons, and the rule or plugin that decided."""

    outcome: Outcome
    reasons: Sequence[str] = ()
    by: str = "the default"
    facts: Facts | None = field(default=None, repr=False, compare=False)


class ServerTool(NamedTuple):
    """A tool as its MCP server calls it. Renaming it here changes neither."""

    server: str
    name: str


@dataclass(frozen=True)
class Facts:
    """A call as its tool receives it: arguments parsed, valid and repaired; effects with the paths of the schema."""

    tool: Tool
    arguments: Mapping[str, Any]
    effects: Effects
    workspace: str
    project: str

    @cached_property
    def hints(self) -> Mapping[str, bool]:
        """All four annotations. One that is not stated counts as the risky value, unless the call only reads."""
        stated = self.effects.annotations
        reads = stated.get("read_only", False)
        return {"read_only": reads, "destructive": not reads, "idempotent": False, "open_world": not reads, **stated}

    @cached_property
    def values(self) -> Mapping[str, Any]:
        """The arguments; for a missing one the default in the schema, or UNKNOWN."""
        properties = self.tool.input_schema.get("properties", {})
        defaults = {
            name: schema.get("default", UNKNOWN) if isinstance(schema, Mapping) else UNKNOWN
            for name, schema in properties.items()
        }
        return {**defaults, **self.arguments}

    @cached_property
    def server_tool(self) -> ServerTool | None:
        """The server of the tool, and its name there, if it is the tool of an MCP server."""
        return server_tool(self.tool)

    @cached_property
    def hash(self) -> str:
        """A hash of everything that makes up the call; an approval of it is for no other call."""
        parts = {
            "tool": self.tool.name,
            "server": self.server_tool,
            "definition": self.tool.definition,
            "settings": dict(self.effects.settings),
            "arguments": self.arguments,
            "paths": self.effects.paths,
            "commands": self.effects.commands,
            "workspace": self.workspace,
            "project": self.project,
        }
        return hashlib.sha256(canonical(parts).encode()).hexdigest()


def server_tool(tool: Tool) -> ServerTool | None:
    """Return the server and the name of a tool of an MCP server; None for any other tool."""
    source, _, server = tool.__module__.partition(":")
    return ServerTool(server, getattr(tool, "__qualname__", tool.name)) if source == "mcp" else None


def facts_of(call: ToolCall, tool: Tool, context: Context, project: str) -> Facts:
    """Return the facts about a call. Raises InvalidArguments, or PolicyError if `effects` fails."""
    arguments = tool.valid_arguments(call)
    workspace = project if context.workspace is None else os.path.realpath(context.workspace)
    try:
        effects = tool.effects(arguments, context)
    except Exception as error:  # the author's own code, which must not make a call pass unjudged
        raise PolicyError(f"{tool.name}.effects() failed: {type(error).__name__}: {error}") from error
    paths: Sequence[str] | None = effects.paths
    if paths is not None and not paths:  # the tool reports none: its schema may declare some
        paths = schema_paths(tool.input_schema, arguments, workspace)
    effects = Effects(
        effects.annotations, paths=paths, commands=effects.commands, settings=effects.settings,
        missing=effects.missing, confined=effects.confined,
    )  # fmt: skip
    return Facts(tool, arguments, effects, workspace, project)


def schema_paths(schema: Mapping[str, Any], arguments: Mapping[str, Any], workspace: str) -> Sequence[str] | None:
    """Return the real paths of the arguments whose schemas mention paths; None if a default is unknown.

    All texts inside such an argument count, so that no part of a nested schema has to be understood.
    """
    if not _IS_PATH.search(json.dumps(schema)):
        return ()
    properties = schema.get("properties", {})
    in_all = {key: value for key, value in schema.items() if key not in ("properties", "$defs")}
    values: list[Any] = []
    for name in properties.keys() | arguments.keys():
        text = json.dumps([properties.get(name), in_all])
        if not _IS_PATH.search(text + json.dumps(schema.get("$defs")) if '"$ref"' in text else text):
            continue
        if name not in arguments and "default" not in properties[name]:
            return None
        values.append(arguments[name] if name in arguments else properties[name]["default"])
    try:
        return tuple(dict.fromkeys(path for text in _texts(values) for path in _readings(text, workspace)))
    except (ValueError, OSError):
        return None


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _readings(text: str, workspace: str) -> Iterator[str]:
    """Yield all files that a tool may open: `~` expanded or not, `..` resolved before links or after them."""
    for name in (text, os.path.expanduser(os.path.expandvars(text))):
        absolute = os.path.join(workspace, name)
        for path in (absolute, os.path.normpath(absolute)):
            folder, last = os.path.split(path.rstrip("/"))
            yield os.path.realpath(path)
            if last not in ("", ".", ".."):  # the name itself, which may be a link to another place
                yield os.path.join(os.path.realpath(folder), last)


canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode  # equal for equal values
