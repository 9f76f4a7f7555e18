"""Pack contexts, state and results for runtimes whose tools run in another process.

`dump` and `load` are `pickle.dumps` and `pickle.loads`, or the functions of another pickler.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from tools_core import Context, Result, ToolError
from tools_runtime._events import describe_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools_core import ToolCall

    PackedContext = tuple[dict[str, Any], dict[str, bytes | str] | bytes | str, bool]

__all__ = ["RemoteError", "State", "describe_error", "pack_context", "pack_result", "unpack_context", "unpack_result"]


class RemoteError(Exception):
    """The traceback of an exception that a tool raised in another process, as text.

    It is the `__cause__` of `result.exception`, or `result.exception` itself if the exception cannot be pickled.
    """


def pack_context(call: ToolCall, context: Context, dump: Callable[[Any], bytes]) -> PackedContext:
    """Return the parts of a Context, the items of its state, and whether it receives progress."""
    remaining = context.remaining
    parts = {
        "workspace": context.workspace,
        "timeout": None if remaining is None else max(remaining, 1e-3),
        "call_id": context.call_id or call.id,
        "run_id": context.run_id,
    }

    def packed(value: Any) -> bytes | str:
        try:
            return dump(value)
        except Exception as error:  # noqa: BLE001  (a user's class may fail in any way)
            return describe_error(error)

    state = context.state
    items = {key: packed(value) for key, value in state.items()} if isinstance(state, Mapping) else packed(state)
    return parts, items, context.on_progress is not None


def unpack_context(packed: PackedContext, load: Callable[[bytes], Any], report: Callable[..., None]) -> Context:
    """Return the Context in the process that runs the call; `report` sends its progress.

    The final result is not known there, so the callbacks of `Context.on_result` are never called.
    """
    parts, items, wants_progress = packed
    context = Context(
        **parts,
        state=State(items, load) if isinstance(items, dict) else _object(items, load),
        on_progress=report if wants_progress else None,
        on_ask=_cannot_ask,
        enforced=False,  # the caller's process watches the time, and kills
    )
    return context.for_call(delivers=True)


def _cannot_ask(question: object) -> NoReturn:  # noqa: ARG001  (called by Context.ask)
    raise ToolError("a tool in another process cannot ask the user: run it in this process", "unavailable")


def _object(item: bytes | str, load: Callable[[bytes], Any]) -> Any:
    """Return a state that is not a mapping; one that could not be sent raises an error with the reason when used."""
    if isinstance(item, bytes):
        return load(item)
    return _Refused(item)


class _Refused:
    def __init__(self, reason: str) -> None:
        self._reason = reason

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise ToolError(f"the state of the call could not be sent to this process: {self._reason}", "unavailable")


class State(dict[str, Any]):
    """The items of a caller's state; one that could not be sent raises a KeyError with the reason."""

    def __init__(self, items: Mapping[str, bytes | str], load: Callable[[bytes], Any]) -> None:
        super().__init__()
        self._refused: dict[str, str] = {}
        for key, item in items.items():
            try:
                if isinstance(item, bytes):
                    self[key] = load(item)
                else:
                    self._refused[key] = item
            except Exception as error:  # noqa: BLE001  (as above)
                self._refused[key] = describe_error(error)

    def __missing__(self, key: str) -> Any:
        reason = self._refused.get(key)
        raise KeyError(key if reason is None else f"{key!r} cannot be sent to another process ({reason})")


def pack_result(result: Result, dump: Callable[[Any], bytes]) -> bytes:
    """Return a result with its exception, or an error if it cannot be sent; raises MemoryError."""
    error, traceback, pickled = result.exception, None, None
    if error is not None:
        from traceback import format_exception  # 3 ms, only for errors

        traceback = "".join(format_exception(error))
        with suppress(Exception):  # as above
            pickled = dump(error)
    try:
        return dump((result, traceback, pickled))
    except MemoryError:
        raise
    except Exception as problem:  # noqa: BLE001  (as above)
        text = f"The tool returned a {type(result.output).__name__} that cannot be sent from another process "
        advice = 'Return plain data, or run the tool with runtime="thread".'
        return pack_result(Result.error(f"{text}({describe_error(problem)}). {advice}"), dump)


def unpack_result(data: bytes) -> Result:
    """Return the result that another process has packed."""
    try:
        answer: tuple[Result, str | None, bytes | None] = pickle.loads(data)  # noqa: S301  (that process has the rights of this one)
    except Exception as problem:  # noqa: BLE001  (a class that this process lacks, or that fails in any way)
        text = f"The result of the tool cannot be read from its process ({describe_error(problem)}). "
        return Result.error(f'{text}Return plain data, or run the tool with runtime="thread".')
    result, traceback, pickled = answer
    if traceback is None:
        return result
    remote = RemoteError(traceback)
    try:
        error: BaseException = pickle.loads(pickled or b"")  # noqa: S301  (as above)
        error.__cause__ = remote
    except Exception:  # noqa: BLE001  (a class that this process lacks, or whose __init__ takes other arguments)
        error = remote
    kind = result.error_type or "execution_error"
    return Result.error(result.error or "", type=kind, metadata=result.metadata, exception=error)
