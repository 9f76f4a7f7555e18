"""The facts about one call that rules match and approvals depend on."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tools_core import Effects
from tools_runtime._events import PolicyError
from tools_runtime._policy._paths import schema_paths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_core import Context, Tool, ToolCall

UNKNOWN = object()  # the value of a missing argument without a default in the schema


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
    def hash(self) -> str:
        """A hash of everything that makes up the call; an approval of it is for no other call."""
        parts = {
            "tool": self.tool.name,
            "definition": self.tool.definition,
            "settings": dict(self.effects.settings),
            "arguments": self.arguments,
            "paths": self.effects.paths,
            "commands": self.effects.commands,
            "workspace": self.workspace,
            "project": self.project,
        }
        return hashlib.sha256(canonical(parts).encode()).hexdigest()


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
        effects.annotations, paths=paths, commands=effects.commands, settings=effects.settings, missing=effects.missing
    )
    return Facts(tool, arguments, effects, workspace, project)


# One text for one JSON value.
canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode
