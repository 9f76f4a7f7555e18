"""`LoopDetector`: warns a model that repeats the same calls."""

from __future__ import annotations

import json
import re
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_runtime.hookspecs import hookimpl
from tools_runtime.plugins._calls import arguments_of, canonical_or_none, with_content
from tools_runtime.plugins._memory import PerKey

if TYPE_CHECKING:
    from collections.abc import Generator

    from tools_core import Context, Result, ToolCall
    from tools_runtime.plugins._memory import Key

_NO_JSON = object()
_DURATION = re.compile(r"\b\d+(?:\.\d+)? ?m?s\b")  # as in `[exit 1 after 0.2 s]`


class _Made(NamedTuple):
    request: int  # hashes
    answer: int
    batch: int


class LoopDetector:
    """Warn a model that repeats the same call with the same result, or a cycle of several calls.

    The warning is added to the content, and `metadata["loop"]` has the `period` and the `repeats`. The call
    still runs, since some tools need repeated calls. Results that differ only in durations are equal. Equal calls of
    one batch, such as a reply, count once, and calls that wait for the user do not count. A JSON object gets the
    warning as a member, and other JSON only the metadata, so that it stays JSON.

    Args:
        repeats: The number of repetitions that causes a warning, at least 2.
        cycle: The maximum number of calls in a cycle.
        key: Returns the conversation of a call; by default one run of an agent, else the `run_id`.
    """

    blocks = False
    nested = False  # each agent and executor has its own

    def __init__(self, repeats: int = 3, cycle: int = 10, *, key: Key | None = None) -> None:
        if repeats < 2 or cycle < 1:
            raise ValueError("repeats must be at least 2, and cycle at least 1")
        self.repeats = repeats
        self.cycle = cycle
        self._histories: PerKey[deque[_Made]] = PerKey(
            lambda: deque(maxlen=cycle * (repeats + 1)), key or _conversation, 1_000
        )
        self._lock = threading.Lock()

    @hookimpl
    def around_tool_call(self, call: ToolCall, context: Context) -> Generator[Any, Any, Result | None]:
        """Add a warning to a result that is part of a loop."""
        history = self._histories.of(context)
        arguments = arguments_of(call)
        request = hash((call.name, call.raw if arguments is None else canonical_or_none(arguments)))
        result: Result = yield
        if result.error_type in ("approval_required", "answer_required", "result_required"):
            return None
        answer = hash((result.ok, result.error_type, _without_durations(result.content)))
        caller: Any = context.caller
        made = _Made(request, answer, caller.batch)
        with self._lock:
            if made in history:  # several times in one batch
                return None
            history.append(made)
            period, repeats = self._loop(history)
        return _warned(result, period, repeats) if period else None

    def _loop(self, history: deque[_Made]) -> tuple[int, int]:
        """Return the period of the loop that ends here, 0 for none, and how often it was repeated."""
        calls = [(made.request, made.answer) for made in history]
        for period in range(1, min(self.cycle, len(calls) // self.repeats) + 1):
            equal = 0
            while equal < len(calls) - period and calls[-1 - equal] == calls[-1 - equal - period]:
                equal += 1
            repeats = equal // period + 1
            if repeats >= self.repeats:
                return period, repeats
        return 0, 0


def _conversation(context: Context) -> str:
    caller: Any = context.caller
    return str(caller.conversation)


def _without_durations(content: Any) -> Any:
    return _DURATION.sub("", content) if isinstance(content, str) else content


def _warned(result: Result, period: int, repeats: int) -> Result:
    description = "the same call with the same arguments gave the same result"
    if period > 1:
        description = f"the same {period} calls with the same results were repeated"
    warning = f"Warning: {description} {repeats} times in a row. Try something else, or explain why you cannot."
    loop = {"loop": {"period": period, "repeats": repeats}}
    content = result.content
    if not isinstance(content, str):
        return with_content(result, [*content, f"[{warning}]"], loop)
    if not result.ok or (value := _json(result)) is _NO_JSON:
        return with_content(result, f"{content}\n\n[{warning}]", loop)
    if isinstance(value, dict) and value and "warning" not in value:
        return with_content(result, f'{content.rstrip()[:-1]},"warning":{json.dumps(warning)}}}', loop)
    return result.with_metadata(loop)


def _json(result: Result) -> Any:
    """Return the JSON value that a program would read from the content; _NO_JSON for text."""
    try:
        value = json.loads(str(result.content))
    except (ValueError, RecursionError):
        return _NO_JSON
    return _NO_JSON if isinstance(result.output, str) and not isinstance(value, dict | list) else value
