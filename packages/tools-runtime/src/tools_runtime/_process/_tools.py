"""The tools as workers get them: pickled once, and from then on a number."""

from __future__ import annotations

import pickle
import threading
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from tools_runtime._log import said
from tools_runtime._process._wire import LOAD, REQUEST
from tools_runtime._remote._errors import Unsendable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools_core import Tool

_MOST = 1_000  # tools that are remembered


class Sent(NamedTuple):
    """A tool for workers."""

    tool: Tool  # kept, so that its id is nobody else's
    number: int
    load: bytes  # the request to load it
    wants_context: bool
    wants_limit: bool  # it has one of its own, or is a coroutine, which ends cleanly at it
    can_stop: bool


class Tools:
    """Those that were sent to workers."""

    def __init__(self, main: Mapping[str, str]) -> None:
        self._main = main  # the program, for those that are defined in it
        self._known: dict[int, Sent] = {}
        self._numbers = count(1)
        self._lock = threading.Lock()

    def get(self, tool: Tool) -> Sent:
        """The tool for a worker; raises Unsendable."""
        known = self._known.get(id(tool))
        if known is not None and known.tool is tool:
            return known
        data = self._pickled(tool)
        with self._lock:
            number = next(self._numbers)
            if len(self._known) >= _MOST:
                self._known.clear()  # a worker that has one gets it again, under another number
            made = self._known[id(tool)] = Sent(
                tool,
                number,
                REQUEST.pack(LOAD, 0, len(data), 0, number, -1.0) + data,
                tool.takes_context,
                tool.is_async or tool.timeout is not None,
                tool.takes_context or tool.is_async,
            )
        return made

    def _pickled(self, tool: Tool) -> bytes:
        try:
            data = pickle.dumps(tool)
        except Exception as error:
            raise Unsendable(
                f"the tool {tool.name!r} cannot be sent to a worker process ({said(error)}); "
                "define it, or its class, at the top of a module, and keep what cannot be pickled out of its attributes"
            ) from error
        if b"__main__" in data and not self._main:
            raise Unsendable(
                f"the tool {tool.name!r} is defined in a program that is no file, which a worker process cannot read; "
                "put it into a module"
            )
        return data
