"""`LoopDetector`: warns a model that repeats the same calls."""

from __future__ import annotations

import re
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from tools_runtime.hookspecs import hookimpl
from tools_runtime.plugins._calls import arguments_of, canonical_or_none, with_content
from tools_runtime.plugins._memory import PerKey

if TYPE_CHECKING:
    from collections.abc import Generator

    from tools_core import Context, Result, ToolCall
    from tools_runtime.plugins._memory import Key

_DURATION = re.compile(r"\b\d+(?:\.\d+)? ?m?s\b")  # as in `[exit 1 after 0.2 s]`


class LoopDetector:
    """Warn a model that repeats the same call with the same result, or a cycle of several calls.

    The warning is added to the content, and `metadata["loop"]` has the `period` and the `repeats`. The call
    still runs, since some tools need repeated calls. Results that differ only in durations are equal.

    Args:
        repeats: The number of repetitions that causes a warning, at least 2.
        cycle: The maximum number of calls in a cycle.
        key: Returns the conversation of a call; by default its run.
    """

    blocks = False
    nested = False  # each agent and executor has its own

    def __init__(self, repeats: int = 3, cycle: int = 10, *, key: Key | None = None) -> None:
        if repeats < 2 or cycle < 1:
            raise ValueError("repeats must be at least 2, and cycle at least 1")
        self.repeats = repeats
        self.cycle = cycle
        self._histories: PerKey[deque[tuple[int, int]]] = PerKey(
            lambda: deque(maxlen=cycle * (repeats + 1)), key, 1_000
        )
        self._lock = threading.Lock()

    @hookimpl
    def around_tool_call(self, call: ToolCall, context: Context) -> Generator[Any, Any, Result | None]:
        """Add a warning to a result that is part of a loop."""
        history = self._histories.of(context)
        arguments = arguments_of(call)
        request = hash((call.name, call.raw if arguments is None else canonical_or_none(arguments)))
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


def _warned(result: Result, period: int, repeats: int) -> Result:
    description = "the same call with the same arguments gave the same result"
    if period > 1:
        description = f"the same {period} calls with the same results were repeated"
    warning = f"[Warning: {description} {repeats} times in a row. Try something else, or explain why you cannot.]"
    content = result.content
    text = f"{content}\n\n{warning}" if isinstance(content, str) else [*content, warning]
    return with_content(result, text, {"loop": {"period": period, "repeats": repeats}})
