"""Tools and calls as they go to a worker process."""

from __future__ import annotations

import os
import pickle
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_core import ToolError
from tools_runtime._errors import describe_error

if TYPE_CHECKING:
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
            data = _dump(tool)
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
        packed = self._packed[id(tool)] = PackedTool(tool, number, _dump(("tool", (number, data))))
        return packed


def pack_call(packed: PackedTool, call: ToolCall, context: Context) -> bytes:
    """Return the message with a call; raises ToolError for arguments that cannot be pickled."""
    tool = packed.tool
    try:
        arguments = _dump(call.given)
    except Exception as error:
        raise ToolError(
            f"The arguments cannot be sent to a worker process ({describe_error(error)}). Give plain data.",
            "validation_error",
        ) from error
    surroundings = _surroundings(call, context) if tool.takes_context or tool.timeout is not None else None
    return _dump(("call", (packed.number, arguments, _current_folder(), surroundings)))


def _surroundings(call: ToolCall, context: Context) -> tuple[dict[str, Any], dict[str, bytes], dict[str, str], bool]:
    """Return the parts of a Context, its state as pickled items and refused ones, and whether to report progress."""
    items: dict[str, bytes] = {}
    refused: dict[str, str] = {}
    for key, value in context.state.items():
        try:
            items[key] = _dump(value)
        except Exception as error:  # noqa: BLE001  (a user's class may fail in any way)
            refused[key] = describe_error(error)
    remaining = context.remaining
    parts = {
        "workspace": context.workspace,
        "timeout": None if remaining is None else max(remaining, 1e-3),
        "call_id": context.call_id or call.id,
        "run_id": context.run_id,
    }
    return parts, items, refused, context.on_progress is not None


def _current_folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return None


def _dump(value: Any) -> bytes:
    return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
