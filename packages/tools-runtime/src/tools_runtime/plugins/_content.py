"""What the model reads of a result, replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_core import Result

if TYPE_CHECKING:
    from collections.abc import Mapping


def with_content(result: Result, content: Any, metadata: Mapping[str, Any]) -> Result:
    """The same result with more metadata, of which the model reads `content`; that of an error is its message."""
    known = {**result.metadata, **metadata}
    if result.is_error:
        kind = result.error_type or "execution_error"
        return Result.error(content, type=kind, metadata=known, exception=result.exception)
    return Result.ok(result.output, metadata=known, content=content)
