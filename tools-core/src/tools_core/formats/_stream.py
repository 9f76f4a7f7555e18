"""`Stream`: the calls of a streamed answer, assembled from its chunks."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tools_core._values._tool_call import ToolCall


class AnswerError(ValueError):
    """An answer that failed or was cut off: do not run its calls."""


class Stream:
    """Feed every chunk of one answer, as the provider or its SDK sends it, then read `calls`."""

    def __init__(self, read: Callable[[Stream, Any], None], finish: Callable[[list[Any]], list[ToolCall]]) -> None:
        self._read = read
        self._finish = finish
        self._parts: list[_Part] = []
        self._open: dict[Any, _Part] = {}
        self._end: str | None = None
        self._is_cut = False

    def feed(self, chunk: Any) -> None:
        """Read one chunk; TypeError for anything else, AnswerError if it reports a failure."""
        self._read(self, data(chunk))

    @property
    def calls(self) -> list[ToolCall]:
        """The calls of the complete answer; AnswerError if it is incomplete.

        An answer that ended at a limit is complete unless it ended inside a call.
        """
        if self._end is None:
            last = f" (last call: {self._parts[-1]})" if self._parts else ""
            raise AnswerError(f"the stream has not ended{last}; feed all of its chunks, or ask the model again")
        partial = next((part for part in self._parts if self._is_cut and not part.is_complete()), None)
        if partial:
            raise AnswerError(f"the answer was cut off ({self._end}) in the call {partial}; raise the limit")
        return self._finish([(part.id, part.name, part.arguments) for part in self._parts])

    def begin(self, key: Any, id: str | None, name: str, arguments: Any = None) -> None:
        """Start the call that later chunks identify by `key`; complete arguments replace earlier parts."""
        part = self._open.get(key)
        if part is None or (id and part.id and id != part.id):  # some servers give every call the index 0
            part = self._open[key] = _Part()
            self._parts.append(part)
        part.id, part.name = id or part.id, name or part.name
        if arguments is not None:
            part.value, part.texts = arguments, []

    def add(self, key: Any, text: str) -> None:
        """Add text to the arguments of a call; text of other items is ignored."""
        if key in self._open:
            self._open[key].texts.append(text)

    def end(self, reason: str, *, is_cut: bool = False) -> None:
        """Record the end of the answer; `is_cut` if a limit ended it."""
        self._end, self._is_cut = reason, is_cut


@dataclass
class _Part:
    """A call whose arguments are still arriving."""

    id: str | None = None
    name: str = ""
    value: Any = None
    texts: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> Any:
        return "".join(self.texts) or self.value

    def is_complete(self) -> bool:
        """Return whether the arguments are complete; empty ones may not have arrived."""
        arguments = self.arguments
        try:
            return isinstance(json.loads(arguments), dict) if isinstance(arguments, str) else bool(arguments)
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"`{self.name}`" + (f", {self.id}" if self.id else "")


def data(value: Any) -> Any:
    """Return the dict of an SDK's object; anything else unchanged."""
    return value.model_dump(warnings=False) if hasattr(value, "model_dump") else value
