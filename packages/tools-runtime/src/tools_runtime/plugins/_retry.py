"""Calls that failed for the moment, made again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_runtime._event import Event
from tools_runtime.hookspecs import hookimpl
from tools_runtime.plugins._facts import hints_of
from tools_runtime.plugins._waiting import pause

if TYPE_CHECKING:
    from collections.abc import Collection, Generator

    from tools_core import Context, Result, Tool, ToolCall

# To make these again would be wrong, or of no use, whatever a tool says of the time to wait.
_FINAL = frozenset({"validation_error", "unknown_tool", "denied", "cancelled", "interrupted", "not_found", "conflict"})
_UNSURE = ("abandoned", "crash", "killed")  # in the metadata of a call that may have had effects


class Retry:
    """Makes a call again when it failed for the moment, and when to make it twice does no harm.

    A failure is for the moment when its type is one of `types`, or when the tool says in seconds when to come back:
    `Result.error("busy", metadata={"retry_after": 2})`. It does no harm when the tool is `read_only` or `idempotent`
    for these arguments. `tools` names others that may be called again, but not after a call that may have had effects:
    one that reached its time limit, or whose worker was lost.

    Args:
        attempts: How often a call is made at most.
        types: The error types after which a call is made again.
        tools: Tools that may be made again though they are neither read_only nor idempotent.
        first: Seconds before the second attempt; each further one waits `factor` times as long.
        factor: See `first`.
        most: Seconds that one wait takes at most. A tool that asks for a longer one is not called again.
        jitter: Whether each wait is a random part of that time, so that many callers do not come back all at once.

    Each further attempt is an event `retry` with `attempt` (2 for the first one), `delay` and `error_type`; the result
    says in `metadata["attempts"]` how many there were, and `abandoned` where one of them was left behind and may still
    run. There is none beyond the caller's deadline.
    """

    def __init__(
        self,
        attempts: int = 3,
        *,
        types: Collection[str] = ("unavailable", "timeout_error"),
        tools: Collection[str] = (),
        first: float = 0.5,
        factor: float = 2.0,
        most: float = 30.0,
        jitter: bool = True,
    ) -> None:
        if attempts < 1 or not 0 <= first <= most or not 1 <= factor <= 100:
            raise ValueError("attempts is 1 or more, factor 1 to 100, and 0 <= first <= most")
        if isinstance(types, str) or isinstance(tools, str):
            raise TypeError("types and tools are collections of names, not one string")
        if refused := _FINAL.intersection(types):
            raise ValueError(f"{min(refused)} does not pass by itself: such a call is not made again")
        self.attempts = attempts
        self.types = frozenset(types)
        self.tools = frozenset(tools)
        self.first = first
        self.factor = factor
        self.most = most
        self.jitter = jitter

    @hookimpl(trylast=True)
    def around_tool_call(
        self, call: ToolCall, tool: Tool | None, context: Context
    ) -> Generator[Any, Any, Result | None]:
        """Make the call until it succeeds, or will not."""
        result: Result = yield
        if result.is_ok or tool is None:
            return None
        made, more = 1, {}
        while made < self.attempts and self._may_repeat(call, tool, result):
            delay = self._delay(made, result)
            remaining = context.remaining
            if delay is None or _is_cancelled(context) or (remaining is not None and delay >= remaining):
                break
            yield Event("retry", call, detail={"attempt": made + 1, "delay": delay, "error_type": result.error_type})
            yield from pause(delay, context)
            if _is_cancelled(context):
                break
            if result.metadata.get("abandoned"):
                more = {"abandoned": True}
            result = yield
            made += 1
        return result.with_metadata({"attempts": made, **more}) if made > 1 else None

    def _may_repeat(self, call: ToolCall, tool: Tool, result: Result) -> bool:
        if result.is_ok or result.is_halted or result.error_type in _FINAL:
            return False
        if result.error_type not in self.types and "retry_after" not in result.metadata:
            return False
        hints = hints_of(tool, call)
        if hints.get("read_only") or hints.get("idempotent"):
            return True
        is_unsure = result.error_type == "timeout_error" or any(result.metadata.get(name) for name in _UNSURE)
        return tool.name in self.tools and not is_unsure

    def _delay(self, made: int, result: Result) -> float | None:
        """Seconds to wait; None where the tool asks for too many."""
        delay = float(min(self.most, self.first * self.factor ** min(made - 1, 64)))
        if self.jitter:
            import random  # 4 ms, for who has to wait anyway

            delay = random.uniform(0, delay)  # noqa: S311  (spreads load, guards nothing)
        asked = result.metadata.get("retry_after")
        if isinstance(asked, int | float) and asked > delay:
            return float(asked) if asked <= self.most else None
        return delay


def _is_cancelled(context: Context) -> bool:
    """Asked anew each time: it changes while we wait."""
    return context.cancelled
