"""Results of tools that only read, given again."""

from __future__ import annotations

import copy
import threading
from collections import OrderedDict
from concurrent.futures import Future
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_runtime._effects import Until
from tools_runtime.hookspecs import hookimpl
from tools_runtime.plugins._facts import arguments_of, canonical, hints_of
from tools_runtime.plugins._utf8 import encoded

if TYPE_CHECKING:
    from collections.abc import Generator, Hashable

    from tools_core import Context, Result, Tool, ToolCall

_PATIENCE = 60.0  # seconds that a call waits for an equal one; longer, and it might wait for one that waits for it
_PLAIN = frozenset({str, int, float, bool, type(None)})
_GROWING = frozenset({dict, list, set, tuple})
_TRACE = frozenset({"traceparent", "tracestate"})  # differ from call to call, and change no result


class Cache:
    """Gives the result of an earlier call for the same call of a `read_only` tool.

    The same call: the same tool object, equal arguments, the same workspace and, where the tool takes the context, the
    same values in its state. Only results that are ok and no halt are kept. Of equal calls at once one is made, and the
    others are given its result. `metadata` says `cached` and the `age` in seconds. A call of any tool that is not
    read_only empties the cache, since it may have changed what others read. One that was left behind at its limit
    may still do so, and nothing tells when: for `seconds` from then on nothing is kept.

    Args:
        seconds: How long a result is given again.
        entries: How many results are kept; the ones that were used longest ago go first.
        max_bytes: How much they may take together, as the bytes of what the model reads.
        open_world: Whether tools are cached that reach out to a world which may change by itself.
    """

    def __init__(
        self, seconds: float = 300, entries: int = 1000, *, max_bytes: int = 50_000_000, open_world: bool = False
    ) -> None:
        if not seconds > 0 or entries < 1 or max_bytes < 1:
            raise ValueError("seconds, entries and max_bytes are above 0")
        self.seconds = seconds
        self.entries = entries
        self.max_bytes = max_bytes
        self.open_world = open_world
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._size = 0
        self._under_way: dict[Hashable, Future[Result | None]] = {}
        self._changes = 0  # how often it was emptied: what was read before is not kept after
        self._unsure_until = 0.0  # a call that was left behind may change something
        self._lock = threading.RLock()  # a generator that is collected settles its future, perhaps in here

    def clear(self) -> None:
        """Forget all results, those of calls under way included."""
        with self._lock:
            self._kept.clear()
            self._size = 0
            self._changes += 1
            self._under_way.clear()

    @hookimpl(trylast=True)
    def around_tool_call(
        self, call: ToolCall, tool: Tool | None, context: Context
    ) -> Generator[Any, Any, Result | None]:
        """Answer the call, or make it and keep what comes of it."""
        if tool is None:
            return None
        hints = hints_of(tool, call)
        if not hints.get("read_only"):
            try:
                result: Result = yield
                if result.metadata.get("abandoned"):
                    self._unsure_until = monotonic() + self.seconds
            finally:
                self.clear()
            return None
        key, held = self._key(call, tool, context)
        if key is None or (hints.get("open_world") and not self.open_world):
            return None
        own: Future[Result | None] = Future()
        with self._lock:
            found = self._find(key)
            under_way = own if found is not None else self._under_way.setdefault(key, own)
            changes = self._changes
        if found is not None:
            return _again(found.result, monotonic() - found.since)
        if under_way is not own:
            remaining = context.remaining
            yield Until(under_way, _PATIENCE if remaining is None else min(remaining, _PATIENCE), context)
            shared = under_way.result() if under_way.done() else None
            if shared is not None:
                return _again(shared, 0.0)
            yield
            return None
        kept = None
        try:
            result = yield
            kept = _copied(result)
        finally:  # also when the caller is cancelled, and this generator closed
            self._settle(key, own, None if kept is None else _Kept(kept, held, monotonic(), _size(kept)), changes)
        return None

    def _key(self, call: ToolCall, tool: Tool, context: Context) -> tuple[Hashable, Any]:
        """What the result depends on, and what must live as long as its identity counts; None for no telling."""
        arguments = arguments_of(call)
        text = None if arguments is None else canonical(arguments)
        if text is None:
            return None, None
        state: dict[str, Any] = {}
        if tool.takes_context:
            state = {name: value for name, value in dict(context.state).items() if name not in _TRACE}
        values = frozenset((name, type(value), _identity(value)) for name, value in state.items())
        if any(identity is None for _, kind, identity in values if kind in _GROWING):
            return None, None
        workspace = context.workspace
        return (id(tool), text, None if workspace is None else str(workspace), values), (tool, state)

    def _find(self, key: Hashable) -> _Kept | None:
        kept = self._kept.get(key)
        if kept is None:
            return None
        if monotonic() - kept.since >= self.seconds:
            self._drop(key)
            return None
        self._kept.move_to_end(key)
        return kept

    def _settle(self, key: Hashable, own: Future[Result | None], kept: _Kept | None, changes: int) -> None:
        with self._lock:
            if self._under_way.get(key) is own:
                del self._under_way[key]
            is_sure = changes == self._changes and monotonic() >= self._unsure_until
            if kept is not None and is_sure and kept.size <= self.max_bytes:
                self._drop(key)
                self._kept[key] = kept
                self._size += kept.size
                while len(self._kept) > self.entries or self._size > self.max_bytes:
                    self._drop(next(iter(self._kept)))
        own.set_result(None if kept is None else kept.result)

    def _drop(self, key: Hashable) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._size -= kept.size


def _identity(value: Any) -> Hashable:
    """What a value is now: one that is the same list or dict may have got other members since."""
    if type(value) in _GROWING:
        return canonical(value)
    return value if type(value) in _PLAIN else id(value)


class _Kept(NamedTuple):
    result: Result
    held: Any
    since: float
    size: int


def _again(result: Result, age: float) -> Result:
    """A copy, because who receives a list or a dict may change it."""
    return (result if _is_plain(result) else copy.deepcopy(result)).with_metadata(
        {"cached": True, "age": round(age, 3)}
    )


def _is_plain(result: Result) -> bool:
    """Whether nobody can change anything in it."""
    return type(result.output) in _PLAIN and all(type(value) in _PLAIN for value in result.metadata.values())


def _copied(result: Result) -> Result | None:
    if not result.is_ok or result.is_halted:
        return None
    if _is_plain(result):
        return result
    try:
        return copy.deepcopy(result)
    except Exception:  # noqa: BLE001  (anybody's class; what cannot be copied is not kept)
        return None


def _size(result: Result) -> int:
    content = result.content
    if isinstance(content, str):
        return len(content) if content.isascii() else len(encoded(content))
    return sum(len(encoded(part) if isinstance(part, str) else part.data) for part in content)
