"""`LoopDetector`: warns a model that repeats the same calls."""

from __future__ import annotations

import re
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from tools_core import Result
from tools_runtime.hookspecs import hookimpl
from tools_runtime.plugins._calls import arguments_of, canonical_or_none
from tools_runtime.plugins._contents import with_content
from tools_runtime.plugins._per_key import PerKey

if TYPE_CHECKING:
    from collections.abc import Generator

    from tools_core import Context, ToolCall
    from tools_runtime.plugins._per_key import Key

_DURATION = re.compile(r"\b\d+(?:\.\d+)? ?m?s\b")  # as in `[exit 1 after 0.2 s]`


class LoopDetector:
    """Warns a model that repeats itself: the same tool, arguments and result, or a cycle of several, again and again.

    The warning is added to the content, and `metadata["loop"]` has the `period` and the `repeats`. Some tools are
    rightly called again, so that the call is still made; with `stop_after` the call that would continue the loop is
    refused (`limit_exceeded`), and any other call ends the loop. Results are equal that differ only in durations.

    Args:
        repeats: How often the same has to happen for a warning, at least 2.
        cycle: How many calls a cycle has at most.
        stop_after: How often the same may happen at most; None for no limit.
        key: Returns the conversation that a call belongs to; by default its run.
        max_keys: How many conversations are remembered.
    """

    def __init__(
        self,
        repeats: int = 3,
        cycle: int = 10,
        *,
        stop_after: int | None = None,
        key: Key | None = None,
        max_keys: int = 1_000,
    ) -> None:
        if repeats < 2 or cycle < 1 or (stop_after is not None and stop_after < repeats):
            raise ValueError("repeats must be at least 2, cycle at least 1, and stop_after not below repeats")
        self.repeats = repeats
        self.cycle = cycle
        self.stop_after = stop_after
        length = cycle * max(repeats, stop_after or 0)
        self._histories: PerKey[deque[tuple[int, int]]] = PerKey(lambda: deque(maxlen=length), key, max_keys)
        self._lock = threading.Lock()

    @hookimpl
    def around_tool_call(self, call: ToolCall, context: Context) -> Generator[Any, Any, Result | None]:
        """Refuse a call or add a warning, where it is part of a loop."""
        history = self._histories.of(context)
        arguments = arguments_of(call)
        request = hash((call.name, call.raw if arguments is None else canonical_or_none(arguments)))
        if self.stop_after is not None:
            with self._lock:
                period, repeats = self._loop(history)
                continues = bool(period) and history[-period][0] == request
            if continues and repeats >= self.stop_after:
                return Result.error(
                    f"this call was not made: {_describe(period, repeats)}, and nothing has changed; do something else",
                    type="limit_exceeded",
                    metadata={"loop": {"period": period, "repeats": repeats}},
                )
        result: Result = yield
        answer = hash((result.ok, result.error_type, _without_durations(result.content)))
        with self._lock:
            history.append((request, answer))
            period, repeats = self._loop(history)
        return _warned(result, period, repeats) if period else None

    def _loop(self, history: deque[tuple[int, int]]) -> tuple[int, int]:
        """Return the period of the loop that ends here, 0 for none, and how often it was repeated."""
        calls = list(history)
        for period in range(1, min(self.cycle, len(calls) // self.repeats) + 1):
            equal = 0
            while equal < len(calls) - period and calls[-1 - equal] == calls[-1 - equal - period]:
                equal += 1
            repeats = equal // period + 1
            if repeats >= self.repeats:
                return period, repeats
        return 0, 0


def _without_durations(content: Any) -> Any:
    return _DURATION.sub("", content) if isinstance(content, str) else content


def _describe(period: int, repeats: int) -> str:
    if period == 1:
        return f"the same call with the same arguments gave the same result {repeats} times in a row"
    return f"the same {period} calls with the same results were repeated {repeats} times in a row"


def _warned(result: Result, period: int, repeats: int) -> Result:
    warning = f"[Warning: {_describe(period, repeats)}. Do something else, or explain what prevents that.]"
    content = result.content
    text = f"{content}\n\n{warning}" if isinstance(content, str) else [*content, warning]
    return with_content(result, text, {"loop": {"period": period, "repeats": repeats}})
