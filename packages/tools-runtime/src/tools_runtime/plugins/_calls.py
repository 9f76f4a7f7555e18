"""Arguments and annotations of a call, whose arguments may be anything."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tools_core import InvalidArguments, Tool
from tools_runtime._policy._facts import received

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools_core import Context, ToolCall


def arguments_of(call: ToolCall) -> dict[str, Any] | None:
    """Return the arguments, parsed; None where they are not a JSON object."""
    try:
        return call.arguments
    except InvalidArguments:
        return None


def canonical_or_none(value: Any) -> str | None:
    """Return one text for one JSON value; None for values that JSON does not have."""
    try:
        return _encode(value)
    except (TypeError, ValueError, RecursionError):
        return None


def annotations_of(tool: Tool, call: ToolCall, context: Context) -> Mapping[str, bool]:
    """Return the annotations of a tool for this very call; none where they cannot be known."""
    if type(tool).effects is Tool.effects:
        return tool.annotations
    try:
        return tool.effects(received(call, tool), context).annotations
    except Exception:  # noqa: BLE001  (invalid arguments, or an error in the tool's own code)
        return {}


_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode
