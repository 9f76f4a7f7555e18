"""Models that make the same calls again and again."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tools_core import Result
from tools_runtime.hookspecs import hookimpl
from tools_runtime.plugins._content import with_content
from tools_runtime.plugins._facts import arguments_of, canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Hashable

    from tools_core import Context, ToolCall

_CONVERSATIONS = 1_000  # that are remembered; the one that was quiet for the longest time goes first


class LoopDetector:
    """Tells a model that it turns in circles: the same tool, arguments and result, or a cycle of several, repeated.

    The warning is added to what the model reads, and `metadata["loop"]` has the `period` and the `repeats`. It is for
    the model to do something else, since some tools are rightly asked the same thing again. With `stop_after` the call
    that would go on with the loop is refused (`limit_exceeded`); any other call ends it.

    Args:
        repeats: How often the same has to happen for a warning, 2 or more.
        cycle: How many calls a cycle has at most.
        stop_after: How often the same may happen at most; None for as often as the model likes.
        key: Which conversation a call belongs to. By default `context.state["session_id"]`, or without one the mapping
            `context.state` itself, which is the same one for all calls under one `Context`.
    """

    def __init__(
        self,
        repeats: int = 3,
        cycle: int = 10,
        *,
        stop_after: int | None = None,
        key: Callable[[Context], Hashable] | None = None,
    ) -> None:
        if repeats < 2 or cycle < 1 or (stop_after is not None and stop_after < repeats):
            raise ValueError("repeats is 2 or more, cycle 1 or more, and stop_after not below repeats")
        self.repeats = repeats
        self.cycle = cycle
        self.stop_after = stop_after
        self._key = key
        self._length = cycle * max(repeats, stop_after or 0)
        self._histories: OrderedDict[Hashable, tuple[deque[tuple[int, int]], Any]] = OrderedDict()
        self._lock = threading.Lock()

    @hookimpl
    def around_tool_call(self, call: ToolCall, context: Context) -> Generator[Any, Any, Result | None]:
        """Refuse the call or add a warning, where it is one of a loop."""
        asked = _fingerprint(call)
        if self.stop_after is not None:
            with self._lock:
                history = self._history(context)
                period, repeats = self._loop(history)
                goes_on = bool(period) and history[-period][0] == asked
            if goes_on and repeats >= self.stop_after:
                return Result.error(
                    f"this call was not made: {_said(period, repeats)}, and nothing has changed; do something else",
                    type="limit_exceeded",
                    metadata={"loop": {"period": period, "repeats": repeats}},
                )
        result: Result = yield
        came = hash((result.is_ok, result.error_type, result.content))
        with self._lock:
            history = self._history(context)
            history.append((asked, came))
            period, repeats = self._loop(history)
        return _warned(result, period, repeats) if period else None

    def _history(self, context: Context) -> deque[tuple[int, int]]:
        key, held = self._conversation(context)
        found = self._histories.get(key)
        if found is None:
            found = self._histories[key] = deque(maxlen=self._length), held
            if len(self._histories) > _CONVERSATIONS:
                self._histories.popitem(last=False)
        self._histories.move_to_end(key)
        return found[0]

    def _conversation(self, context: Context) -> tuple[Hashable, Any]:
        """The conversation, and what must live as long as its identity counts."""
        if self._key is not None:
            return self._key(context), None
        session = context.state.get("session_id")
        if session is not None:
            return ("session", str(session)), None
        state = getattr(context.state, "maps", [context.state])[0]  # another plugin may have laid something over it
        return ("state", id(state)), state

    def _loop(self, history: deque[tuple[int, int]]) -> tuple[int, int]:
        """The period of the loop in which these calls end, 0 for none, and how often it was gone through."""
        calls = list(history)
        for period in range(1, min(self.cycle, len(calls) // self.repeats) + 1):
            equal = 0
            while equal < len(calls) - period and calls[-1 - equal] == calls[-1 - equal - period]:
                equal += 1
            repeats = equal // period + 1
            if repeats >= self.repeats:
                return period, repeats
        return 0, 0


def _fingerprint(call: ToolCall) -> int:
    arguments = arguments_of(call)
    text = None if arguments is None else canonical(arguments)
    if text is None:
        with suppress(Exception):  # too deep, a number of too many digits, or anybody's class
            text = repr(call.given)
    return hash((call.name, text))


def _said(period: int, repeats: int) -> str:
    if period == 1:
        return f"the same call with the same arguments gave the same result {repeats} times in a row"
    return f"the same {period} calls with the same results were repeated {repeats} times in a row"


def _warned(result: Result, period: int, repeats: int) -> Result:
    warning = f"[Warning: {_said(period, repeats)}. Do something else, or say what keeps you from it.]"
    content = result.content
    told = f"{content}\n\n{warning}" if isinstance(content, str) else [*content, warning]
    return with_content(result, told, {"loop": {"period": period, "repeats": repeats}})
