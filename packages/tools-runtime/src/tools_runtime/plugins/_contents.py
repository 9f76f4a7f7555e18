"""The content of a result: what the model reads of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_core import Result

if TYPE_CHECKING:
    from collections.abc import Mapping


def with_content(result: Result, content: Any, metadata: Mapping[str, Any]) -> Result:
    """Return the same result with other content and more metadata; the content of an error is its message."""
    whole = {**result.metadata, **metadata}
    if not result.ok:
        kind = result.error_type or "execution_error"
        return Result.error(content, type=kind, metadata=whole, exception=result.exception)
    return Result.ok(result.output, metadata=whole, content=content)


def content_size(result: Result) -> int:
    """Return the bytes of the content."""
    content = result.content
    parts = (content,) if isinstance(content, str) else content
    return sum(len(part.encode(errors="replace")) if isinstance(part, str) else len(part.data) for part in parts)
