"""`Event`: something that happened to a call."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools_core import Context, Result, ToolCall

Kind = Literal["start", "progress", "retry", "crash", "end", "hook_failed"]


class Event:
    """Something that happened to a call, for `on_event`.

    Each call has exactly one `start` (detail: `runtime`, its name) and one `end` (with the result). In between come
    `progress` (`done`, `total`, `message`), `retry` (`delay`), `crash` (with the result of an attempt that lost its
    worker) and `hook_failed` (`plugin`, `hook`, `error`). `attempt` counts from 1 and is 0 before the first attempt;
    `at` is `time.monotonic()`.
    """

    __slots__ = ("at", "attempt", "call", "context", "detail", "kind", "result")

    def __init__(
        self,
        kind: Kind,
        call: ToolCall,
        context: Context,
        *,
        attempt: int = 0,
        result: Result | None = None,
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        self.kind = kind
        self.call = call
        self.context = context
        self.attempt = attempt
        self.result = result
        self.detail: Mapping[str, Any] = {} if detail is None else detail
        self.at = monotonic()

    @property
    def run_id(self) -> str:
        """The run that the call belongs to."""
        return self.context.run_id

    def __repr__(self) -> str:
        return f"Event({self.kind!r}, {self.call!r}, attempt={self.attempt}, result={self.result!r})"
