"""`Cache`: cache results of read-only calls."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_runtime.hookspecs import hookimpl
from tools_runtime.plugins._calls import annotations_of, arguments_of, canonical_or_none, content_size
from tools_runtime.plugins._memory import Bounded, PerKey

if TYPE_CHECKING:
    from collections.abc import Generator

    from tools_core import Context, Result, Tool, ToolCall
    from tools_runtime.plugins._memory import Key

    Request = tuple[int, str, str | None, str]

_TRACE = ("traceparent", "tracestate")  # differ from call to call and change no result


class Cache:
    """Return the result of an earlier equal call for calls of `read_only` tools.

    Calls are equal if they have the same tool object, arguments and workspace and, if the tool takes the Context, the
    same `state`; with a state that is not plain JSON such a tool is not cached. Only successes are stored, no halts.
    The metadata of an answer has `cached` and its `age` in seconds.

    Results are stored for each run, and no other run receives them. A call of a tool that is not read-only clears them,
    since it may have changed the data; if it was abandoned at its limit, nothing is stored for `seconds`. Changes by
    another run are seen after at most `seconds`.

    A policy does not decide about cached results again: with `key`, share results only among callers with the same
    rights.

    Args:
        seconds: How long a result is returned.
        entries: The number of stored results for a run; the least recently used are dropped first.
        max_bytes: The total size of their contents.
        open_world: Whether to cache tools with `open_world`.
        key: Returns the key under which calls share results, instead of the run: `lambda context:
            context.state["user"]`.
    """

    blocks = False

    def __init__(
        self,
        seconds: float = 300,
        entries: int = 1000,
        *,
        max_bytes: int = 10_000_000,
        open_world: bool = False,
        key: Key | None = None,
    ) -> None:
        if not seconds > 0:
            raise ValueError(f"seconds must be above 0, got {seconds!r}")
        _Results(entries, max_bytes)  # checks them
        self.seconds = seconds
        self.open_world = open_world
        self._results = PerKey(lambda: _Results(entries, max_bytes), key, max_keys=200)

    def clear(self) -> None:
        """Drop all results."""
        self._results.clear()

    @hookimpl(trylast=True)
    def around_tool_call(
        self, call: ToolCall, tool: Tool | None, context: Context
    ) -> Generator[Any, Any, Result | None]:
        """Answer the call, or run it and store its result."""
        if tool is None:
            return None
        results = self._results.of(context)
        annotations = annotations_of(tool, call, context)
        if not annotations.get("read_only"):
            result: Result = yield
            results.drop_all(monotonic() + (self.seconds if result.metadata.get("abandoned") else 0.0))
            return None
        request = _request(call, tool, context)
        if request is None or (annotations.get("open_world") and not self.open_world):
            return None
        stored = results.find(request)
        start = monotonic()
        if stored is not None and start - stored.since < self.seconds:
            answer = copy.deepcopy(stored.result)  # its receiver may change it
            return answer.with_metadata({"cached": True, "age": round(start - stored.since, 3)})
        result = yield
        if result.ok and not result.halted:
            results.store(request, result, tool, start)
        return None


class _Stored(NamedTuple):
    result: Result
    tool: Tool  # so that its id stays unique
    since: float


class _Results(Bounded["Request", _Stored]):
    """The results of one key."""

    _unsure_until = 0.0  # a call that started earlier may have read what changed later

    def store(self, request: Request, result: Result, tool: Tool, start: float) -> None:
        """Store a copy of a result, unless something may have changed since the call started."""
        try:
            stored = _Stored(copy.deepcopy(result), tool, monotonic())
        except Exception:  # noqa: BLE001  (of the user's classes: a value that cannot be copied is not stored)
            return
        with self.lock:
            if start > self._unsure_until:
                self.add(request, stored, content_size(result))

    def drop_all(self, unsure_until: float) -> None:
        """Drop the results, and store none of calls that start before: an abandoned call may still change data."""
        with self.lock:
            self.clear()
            self._unsure_until = max(self._unsure_until, unsure_until)


def _request(call: ToolCall, tool: Tool, context: Context) -> Request | None:
    """Return everything that a result depends on; None if that is not plain JSON."""
    state: Any = {}
    workspace = context.workspace
    if tool.takes_context:
        state = context.state
        if isinstance(state, Mapping):
            state = {name: value for name, value in state.items() if name not in _TRACE}
    arguments, state_text = canonical_or_none(arguments_of(call)), canonical_or_none(state)
    if arguments in (None, "null") or state_text is None:
        return None
    return id(tool), arguments, None if workspace is None else str(workspace), state_text
