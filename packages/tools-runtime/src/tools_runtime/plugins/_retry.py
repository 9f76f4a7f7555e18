"""`Retry`: retry calls after transient failures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_runtime._drive import pause
from tools_runtime.hookspecs import hookimpl
from tools_runtime.plugins._calls import annotations_of

if TYPE_CHECKING:
    from collections.abc import Collection, Generator

    from tools_core import Context, Result, Tool, ToolCall

# Retrying these would be wrong or useless, even if the tool names a time to wait.
_FINAL = frozenset(
    [
        "answer_required",
        "approval_required",
        "cancelled",
        "conflict",
        "denied",
        "interrupted",
        "not_found",
        "unknown_tool",
        "validation_error",
    ]
)


class Retry:
    """Retry calls after transient failures, if the tool is `read_only` or `idempotent` for these arguments.

    A failure is transient if its type is in `types`, if the worker of the call crashed (`metadata["crash"]`), or if the
    tool sets the seconds to wait: `Result.error("busy", metadata={"retry_after": 2})`.

    Args:
        attempts: The maximum number of attempts.
        types: The error types to retry.
        first: The maximum wait before the second attempt, in seconds; it doubles for each later one. The actual wait is
            a random part of it, so that many callers do not return at the same time.
        most: The maximum of all waits. If a tool asks for a longer one, its call is not retried.

    Each further attempt is announced by an event `retry` with its `attempt` (from 2), `delay` and `error_type`; the
    result has `metadata["attempts"]`, and `abandoned` if an earlier attempt may still be running. There is no
    further attempt once the context is cancelled, or beyond its deadline.
    """

    blocks = False

    def __init__(
        self,
        attempts: int = 3,
        *,
        types: Collection[str] = ("unavailable", "timeout_error", "crashed"),
        first: float = 0.5,
        most: float = 30.0,
    ) -> None:
        if attempts < 1 or not 0 <= first <= most:
            raise ValueError("attempts must be at least 1, and 0 <= first <= most")
        if isinstance(types, str):
            raise TypeError("types is a collection of error types, not one string")
        if refused := _FINAL.intersection(types):
            raise ValueError(f"a call that ended with {min(refused)} is never retried: remove it from types")
        self.attempts = attempts
        self.types = frozenset(types)
        self.first = first
        self.most = most

    @hookimpl(trylast=True)
    def around_tool_call(
        self, call: ToolCall, tool: Tool | None, context: Context
    ) -> Generator[Any, Any, Result | None]:
        """Run the call until it succeeds or must not be retried."""
        result: Result = yield
        attempts, more = 1, {}
        while tool is not None and attempts < self.attempts and self._may_repeat(call, tool, context, result):
            delay = self._delay(attempts, result)
            remaining = context.remaining
            if delay is None or (remaining is not None and delay >= remaining):
                break
            yield from pause(delay, context)
            if result.metadata.get("abandoned"):
                more = {"abandoned": True}
            result = yield
            attempts += 1
        return result.with_metadata({"attempts": attempts, **more}) if attempts > 1 else None

    def _may_repeat(self, call: ToolCall, tool: Tool, context: Context, result: Result) -> bool:
        if result.ok or result.halted or result.error_type in _FINAL or context.cancelled:
            return False
        if result.error_type not in self.types and not {"crash", "retry_after"} & result.metadata.keys():
            return False
        annotations = annotations_of(tool, call, context)
        return bool(annotations.get("read_only") or annotations.get("idempotent"))

    def _delay(self, attempts: int, result: Result) -> float | None:
        """Return the seconds to wait; None if the tool asks for too many."""
        import random  # 4 ms, only for calls that wait anyway

        longest = min(self.most, self.first * 2.0 ** min(attempts - 1, 64))
        delay = random.uniform(0, longest)  # noqa: S311  (spreads load, guards nothing)
        retry_after = result.metadata.get("retry_after")
        if isinstance(retry_after, int | float) and retry_after > delay:
            return float(retry_after) if retry_after <= self.most else None
        return delay
