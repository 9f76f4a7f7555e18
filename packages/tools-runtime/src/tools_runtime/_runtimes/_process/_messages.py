"""Pickle tools and calls for a worker process."""

from __future__ import annotations

import os
import pickle
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_core import ToolError
from tools_runtime.remote import describe_error, pack_context

if TYPE_CHECKING:
    from tools_core import Context, Tool, ToolCall

_MAX_TOOLS = 1_000


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
        if len(self._packed) >= _MAX_TOOLS:
            self._packed.clear()  # a tool that is used again gets another number
        number = next(self._numbers)
        packed = self._packed[id(tool)] = PackedTool(tool, number, dump(("tool", (number, data))))
        return packed


def pack_call(packed: PackedTool, call: ToolCall, context: Context) -> bytes:
    """Return the message with a call; raises ToolError for arguments that cannot be pickled."""
    try:
        arguments = dump(call.raw_arguments)
    except Exception as error:
        text = f"The arguments cannot be sent to a worker process ({describe_error(error)}). Give plain data."
        raise ToolError(text, "validation_error") from error
    needs_context = packed.tool.takes_context or packed.tool.timeout is not None
    surroundings = pack_context(call, context, dump) if needs_context else None
    try:
        folder = os.getcwd()
    except OSError:  # it was deleted
        folder = None
    return dump(("call", (packed.number, arguments, folder, surroundings)))


def dump(value: Any) -> bytes:
    """Pickle a value."""
    return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
