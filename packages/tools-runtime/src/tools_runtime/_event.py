"""What listeners hear of a call."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools_core import Result, ToolCall

Kind = Literal["start", "progress", "retry", "end", "crash", "hook_failed"]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a call.

    `kind` is `start`, `progress` (detail: done, total, message), `retry` (attempt, delay), `end` (with the result),
    `crash` (a worker was lost; error) or `hook_failed` (plugin, hook, error); `at` is `time.monotonic()`.
    """

    kind: Kind
    call: ToolCall
    result: Result | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    at: float = field(default_factory=monotonic)
