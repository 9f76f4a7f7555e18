"""`RateLimit`: limits on the rate and the concurrency of calls."""

from __future__ import annotations

import threading
from fnmatch import fnmatchcase
from time import monotonic
from typing import TYPE_CHECKING, Any

from tools_core import Result
from tools_runtime._callers import outermost_run
from tools_runtime._concurrency import Gate, check_concurrency, enter_all, leave_all, passed
from tools_runtime._drive import pause
from tools_runtime.hookspecs import hookimpl
from tools_runtime.plugins._memory import PerKey

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from tools_core import Context, ToolCall
    from tools_runtime.plugins._memory import Key

_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}


class RateLimit:
    """Delay calls, so that tools are not called too often or too many times at once.

    All tools that match a pattern share its limits, and every pattern that matches a tool applies. After a pause, as
    many calls as the rate allows may start at once.

    Calls wait in order. If a call would have to wait past the caller's deadline, it is refused as `limit_exceeded`, and
    `metadata["retry_after"]` has the seconds to wait, if they are known. A call inside another tool's call does not
    wait for a `max_concurrency` that the outer call occupies. An abandoned call does not count as running.

    Args:
        rates: The number of calls in a time, by name or pattern: `{"web_*": "10/s", "deploy": "2/h"}`. The units are s,
            min and h; `(count, seconds)` works as well.
        max_concurrency: The number of calls that may run at once, by name or pattern.
        key: Returns the key under which calls share the limits, instead of the run, which
            includes the calls of its sub-agents: `lambda context:
            context.state["user"]`, or `lambda context: None` for the whole process.
    """

    blocks = False

    def __init__(
        self,
        rates: Mapping[str, str | tuple[int, float]] | None = None,
        *,
        max_concurrency: Mapping[str, int] | None = None,
        key: Key | None = None,
    ) -> None:
        counts = {pattern: _count(rate) for pattern, rate in (rates or {}).items()}
        gates = dict(max_concurrency or {})
        for limit in gates.values():
            check_concurrency(limit)
        self._patterns = (*counts, *gates)
        self._limits = PerKey(lambda: _Limits(counts, gates), key or outermost_run, max_keys=10_000)

    @hookimpl(trylast=True)
    def around_tool_call(self, call: ToolCall, context: Context) -> Generator[Any, Any, Result | None]:
        """Run the call when it is its turn."""
        if not any(_matches(pattern, call) for pattern in self._patterns):
            return None
        limits, outside = self._limits.of(context), passed.get()
        # In one order for all calls, so that no two wait for each other.
        gates = [gate for pattern, gate in limits.gates if _matches(pattern, call) and gate not in outside]
        entered = yield from enter_all(gates, context)
        if entered is None and not context.cancelled:
            return _refused(call, "concurrency limit reached")
        try:
            refused = yield from limits.wait_for_turn(call, context)
            if refused is not None and not context.cancelled:
                return refused
            passed.set((*outside, *(entered or ())))
            result: Result = yield  # an error of type "cancelled" if the caller has left
            return result
        finally:
            passed.set(outside)
            leave_all(entered or ())


class _Limits:
    """The limits of one key."""

    def __init__(self, counts: Mapping[str, tuple[int, float]], gates: Mapping[str, int]) -> None:
        self.gates = [(pattern, Gate(limit)) for pattern, limit in gates.items()]
        self._rates = [_Rate(pattern, *count) for pattern, count in counts.items()]
        self._lock = threading.Lock()

    def wait_for_turn(self, call: ToolCall, context: Context) -> Generator[Any, Any, Result | None]:
        """Wait until the rates allow a call; return the refusal if that is too late."""
        rates = [rate for rate in self._rates if _matches(rate.pattern, call)]
        with self._lock:
            now, remaining = monotonic(), context.remaining
            wait = max((rate.next_turn(now) for rate in rates), default=now) - now
            if wait > 0 and remaining is not None and wait >= remaining:
                return _refused(call, "rate limit exceeded", wait)
            for rate in rates:
                rate.next = max(rate.next, now) + rate.interval
        if wait > 0:
            yield from pause(wait, context)
        if context.cancelled:  # the turn is not used: later calls run earlier
            with self._lock:
                for rate in rates:
                    rate.next -= rate.interval
        return None


class _Rate:
    """A token bucket as a timetable: each call takes the next free time."""

    def __init__(self, pattern: str, count: int, seconds: float) -> None:
        self.pattern = pattern
        self.interval = seconds / count
        self.next = 0.0
        self._burst = seconds - self.interval  # how far ahead of its time a call may come

    def next_turn(self, now: float) -> float:
        """Return when a call that comes now may run; in the past for no wait."""
        return max(self.next, now) - self._burst


def _matches(pattern: str, call: ToolCall) -> bool:
    """Compare the tool's own name as well: a model may write `distribution:name`."""
    return fnmatchcase(call.name, pattern) or fnmatchcase(call.name.rpartition(":")[2], pattern)


def _refused(call: ToolCall, reason: str, wait: float | None = None) -> Result:
    when = "later" if wait is None else f"in {wait:.0f} s" if wait >= 10 else f"in {wait:.2f} s"
    metadata = None if wait is None else {"retry_after": round(wait, 3)}
    text = f"{call.name} was not run: {reason}; retry {when}"
    return Result.error(text, type="limit_exceeded", metadata=metadata)


def _count(rate: str | tuple[int, float]) -> tuple[int, float]:
    try:
        count, seconds = (rate.split("/")[0], _UNITS[rate.split("/")[1]]) if isinstance(rate, str) else rate
        parsed = int(count), float(seconds)
    except (ValueError, KeyError, TypeError, IndexError):
        parsed = 0, 0.0
    if parsed[0] < 1 or not 0 < parsed[1] < 1e9:
        raise ValueError(f'a rate is "10/s", "10/min", "10/h" or (count, seconds), above 0; got {rate!r}')
    return parsed
