"""Arguments and annotations of a call, and the content of its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_core import InvalidArguments, Result, Tool
from tools_runtime._policy._facts import canonical

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools_core import Context, ToolCall


def arguments_of(call: ToolCall) -> dict[str, Any] | None:
    """Return the arguments, parsed; None if they are not a JSON object."""
    try:
        return call.arguments
    except InvalidArguments:
        return None


def canonical_or_none(value: Any) -> str | None:
    """Return one text for one JSON value; None for values that JSON does not have."""
    try:
        return canonical(value)
    except (TypeError, ValueError, RecursionError):
        return None


def annotations_of(tool: Tool, call: ToolCall, context: Context) -> Mapping[str, bool]:
    """Return the annotations of this call; an empty mapping if they are unknown."""
    if type(tool).effects is Tool.effects:
        return tool.annotations
    try:
        return tool.effects(tool.valid_arguments(call), context).annotations
    except Exception:  # noqa: BLE001  (invalid arguments, or an error in the tool's own code)
        return {}


def with_content(result: Result, content: Any, metadata: Mapping[str, Any]) -> Result:
    """Return the same result with other content and more metadata; the content of an error is its message."""
    merged = {**result.metadata, **metadata}
    if not result.ok:
        kind = result.error_type or "execution_error"
        return Result.error(content, type=kind, metadata=merged, exception=result.exception)
    return Result.ok(result.output, metadata=merged, content=content)


def content_size(result: Result) -> int:
    """Return the bytes of the content."""
    content = result.content
    parts = (content,) if isinstance(content, str) else content
    return sum(len(part.encode(errors="replace")) if isinstance(part, str) else len(part.data) for part in parts)
