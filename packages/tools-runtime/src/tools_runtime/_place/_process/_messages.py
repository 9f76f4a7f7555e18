"""Tools, calls and results as they are sent between the host and a worker process."""

from __future__ import annotations

import os
import pickle
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_core import Result, ToolError
from tools_runtime._errors import describe_error

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tools_core import Context, Tool, ToolCall

_MOST_TOOLS = 1_000


class PackedTool(NamedTuple):
    """A tool that was pickled once, and has a number from then on."""

    tool: Tool  # held, so that no other tool gets its id
    number: int
    message: bytes


class Tools:
    """The tools that were sent to workers. Changes made to a tool later do not reach them."""

    def __init__(self) -> None:
        self._packed: dict[int, PackedTool] = {}
        self._numbers = count(1)

    def pack(self, tool: Tool) -> PackedTool:
        """Return the message that brings a tool to a worker; raises ToolError for one that cannot be pickled."""
        packed = self._packed.get(id(tool))
        if packed is not None and packed.tool is tool:
            return packed
        try:
            data = dump(tool)
        except Exception as error:
            raise ToolError(
                f"The tool {tool.name!r} cannot be sent to a worker process ({describe_error(error)}). "
                "Define it at the top level of a module, without attributes that cannot be pickled, "
                'or run it with runtime="thread".',
                "unavailable",
            ) from error
        if len(self._packed) >= _MOST_TOOLS:
            self._packed.clear()  # a tool that is used again gets another number
        number = next(self._numbers)
        packed = self._packed[id(tool)] = PackedTool(tool, number, dump(("tool", (number, data))))
        return packed


def pack_call(packed: PackedTool, call: ToolCall, context: Context) -> bytes:
    """Return the message with a call; raises ToolError for arguments that cannot be pickled."""
    try:
        arguments = dump(call.given)
    except Exception as error:
        text = f"The arguments cannot be sent to a worker process ({describe_error(error)}). Give plain data."
        raise ToolError(text, "validation_error") from error
    needs_context = packed.tool.takes_context or packed.tool.timeout is not None
    try:
        folder = os.getcwd()
    except OSError:  # it was deleted
        folder = None
    return dump(("call", (packed.number, arguments, folder, _pack_context(call, context) if needs_context else None)))


def _pack_context(call: ToolCall, context: Context) -> tuple[dict[str, Any], dict[str, bytes | str], bool]:
    """Return the parts of a Context, the items of its state, and whether to report progress."""
    remaining = context.remaining
    parts = {
        "workspace": context.workspace,
        "timeout": None if remaining is None else max(remaining, 1e-3),
        "call_id": context.call_id or call.id,
        "run_id": context.run_id,
    }
    items: dict[str, bytes | str] = {}
    for key, value in context.state.items():
        try:
            items[key] = dump(value)
        except Exception as error:  # noqa: BLE001  (a user's class may fail in any way)
            items[key] = describe_error(error)
    return parts, items, context.on_progress is not None


class State(dict[str, Any]):
    """The items of a caller's state, given as pickled data, or as the reason why that is not possible."""

    def __init__(self, items: Mapping[str, bytes | str], load: Callable[[bytes], Any]) -> None:
        super().__init__()
        self._refused: dict[str, str] = {}
        for key, item in items.items():
            try:
                if isinstance(item, bytes):
                    self[key] = load(item)
                else:
                    self._refused[key] = item
            except Exception as error:  # noqa: BLE001  (a user's class may fail in any way)
                self._refused[key] = describe_error(error)

    def __missing__(self, key: str) -> Any:
        reason = self._refused.get(key)
        raise KeyError(key if reason is None else f"{key!r} cannot be sent to a worker process ({reason})")


class RemoteError(Exception):
    """The traceback of an exception that a tool raised in a worker process, as text.

    It is the `__cause__` of `result.exception`, or in its place where the exception could not be sent.
    """


def pack_result(result: Result, *, is_last: bool) -> bytes:
    """Return the message with a result and its exception; `is_last` means that the worker ends after it."""
    error = result.exception
    if error is None:
        return dump(("result", (result, None, None, is_last)))
    from traceback import format_exception  # 3 ms, only for errors

    try:
        pickled = dump(error)
    except Exception:  # noqa: BLE001  (a user's class may fail in any way)
        pickled = None
    return dump(("result", (result, "".join(format_exception(error)), pickled, is_last)))


def unpack_result(result: Result, traceback: str | None, pickled: bytes | None) -> Result:
    """Return the result with its exception."""
    if traceback is None:
        return result
    remote = RemoteError(traceback)
    try:
        error: BaseException = pickle.loads(pickled or b"")  # noqa: S301  (a worker has the rights of its host)
        error.__cause__ = remote
    except Exception:  # noqa: BLE001  (a class that this process lacks, or whose __init__ takes other arguments)
        error = remote
    kind = result.error_type or "execution_error"
    return Result.error(result.error or "", type=kind, metadata=result.metadata, exception=error)


def load_message(data: bytes) -> tuple[str, Any]:
    """Return the kind and the content of a message of a worker."""
    try:
        kind, content = pickle.loads(data)  # noqa: S301  (as above)
    except Exception as error:  # noqa: BLE001  (as above)
        text = f"The result of the tool cannot be read from its worker process ({describe_error(error)}). "
        result = Result.error(f'{text}Return plain data, or run the tool with runtime="thread".')
        return "result", (result, None, None, False)
    return kind, content


def dump(value: Any) -> bytes:
    """Pickle a value."""
    return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
