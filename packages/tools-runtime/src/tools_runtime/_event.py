"""What listeners hear of a call."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools_core import Result, ToolCall

Kind = Literal["start", "progress", "retry", "end", "crash", "hook_failed"]


class Event:
    """Something that happened to a call.

    `kind` is `start` (detail: runtime, its name), `progress` (done, total, message), `retry` (attempt, delay), `crash`
    (error; with the result of an attempt whose worker was lost), `end` (with the result), or `hook_failed` (plugin,
    hook, error); `at` is `time.monotonic()`.
    """

    __slots__ = ("at", "call", "detail", "kind", "result")

    def __init__(
        self, kind: Kind, call: ToolCall, result: Result | None = None, detail: Mapping[str, Any] | None = None
    ) -> None:
        self.kind = kind
        self.call = call
        self.result = result
        self.detail: Mapping[str, Any] = {} if detail is None else detail
        self.at = monotonic()

    def __repr__(self) -> str:
        return f"Event({self.kind!r}, {self.call!r}, result={self.result!r}, detail={self.detail!r})"
