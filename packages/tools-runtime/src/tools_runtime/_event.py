"""`Event`: something that happened to a call."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools_core import Context, Result, ToolCall

Kind = Literal["start", "progress", "retry", "crash", "end", "hook_failed"]


@dataclass(slots=True, eq=False)
class Event:
    """Something that happened to a call, for `on_event`.

    Each call has exactly one `start` (detail: `runtime`, its name) and one `end` (with the result). In between come
    `progress` (`done`, `total`, `message`), `retry` (`delay`), `crash` (with the result of an attempt that lost its
    worker) and `hook_failed` (`plugin`, `hook`, `error`). `attempt` counts from 1 and is 0 before the first attempt;
    `at` is `time.monotonic()`.
    """

    kind: Kind
    call: ToolCall
    context: Context = field(repr=False)
    attempt: int = field(default=0, kw_only=True)
    result: Result | None = field(default=None, kw_only=True)
    detail: Mapping[str, Any] = field(default_factory=dict[str, Any], kw_only=True)
    at: float = field(default_factory=monotonic, init=False, repr=False)

    @property
    def run_id(self) -> str:
        """The run that the call belongs to."""
        return self.context.run_id
