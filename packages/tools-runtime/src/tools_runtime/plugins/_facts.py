"""What plugins read off a call: its arguments may be anything, and hints are a tool's own code."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tools_core import InvalidArguments, Tool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools_core import ToolCall


def arguments_of(call: ToolCall) -> dict[str, Any] | None:
    """The arguments; None where they are no JSON object, which the tool will say."""
    given = call.given
    if type(given) is dict:
        return given
    try:
        return call.arguments
    except InvalidArguments:
        return None


def hints_of(tool: Tool, call: ToolCall) -> Mapping[str, bool]:
    """The hints of a tool for one call; none where there is no telling."""
    if type(tool).annotations_for is Tool.annotations_for:
        return tool.annotations
    from tools_runtime._policy._facts import received  # for tools whose hints depend on the arguments

    try:
        # What is repaired is judged as the tool gets it: the text "false" would be true.
        return dict(tool.annotations_for(received(call, tool)))
    except Exception:  # noqa: BLE001  (invalid arguments, or what a tool's own code raises)
        return {}


def canonical(arguments: Mapping[str, Any]) -> str | None:
    """The same text for the same arguments in any order; None for what JSON cannot say."""
    try:
        return _encode(arguments)
    except (TypeError, ValueError, RecursionError):
        return None


# ASCII, because lone surrogates must not matter to who hashes it or writes it.
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
