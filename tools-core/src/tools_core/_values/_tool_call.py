"""`ToolCall`: a model's request to call a tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tools_core._values._json import parse


@dataclass(frozen=True, slots=True, init=False, repr=False)
class ToolCall:
    """A request to call a tool. Immutable: arguments are copied when it is created and whenever they are read.

    Args:
        id: The provider's id, or None; a number becomes text.
        name: The name of the tool.
        arguments: A mapping, or JSON text as the provider sent it. The tool parses text, and refuses bad JSON.
    """

    id: str | None
    name: str
    _arguments: dict[str, Any] | str | None

    def __init__(self, id: str | None, name: str, arguments: Mapping[str, Any] | str | None = None) -> None:
        if not isinstance(name, str):
            raise TypeError(f"name must be a string, not {type(name).__name__}")
        if isinstance(arguments, Mapping):
            arguments = _copied(arguments)
        elif arguments is not None and not isinstance(arguments, str):
            raise TypeError(f"arguments must be a mapping, JSON text or None, not {type(arguments).__name__}")
        id = id if id is None else str(id)  # some servers number their calls
        for field, value in (("id", id), ("name", name), ("_arguments", arguments)):
            object.__setattr__(self, field, value)

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments, parsed; InvalidArguments if the text is not a JSON object."""
        arguments = self._arguments
        return parse(arguments) if isinstance(arguments, str) else _copied(arguments or {})

    @property
    def raw_arguments(self) -> dict[str, Any] | str | None:
        """The arguments as the provider sent them: text is not parsed."""
        arguments = self._arguments
        return arguments if arguments is None or isinstance(arguments, str) else _copied(arguments)

    @property
    def raw(self) -> str | None:
        """The provider's text of the arguments, if it sent text."""
        return self._arguments if isinstance(self._arguments, str) else None

    def to_dict(self) -> dict[str, Any]:
        """Return `id`, `name` and `arguments`; text is not parsed. `from_dict` is the exact inverse."""
        return {"id": self.id, "name": self.name, "arguments": self.raw_arguments}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> ToolCall:
        """Read a call. Accepts `call_id` for `id`, and `input` or `parameters` for `arguments`."""
        name = value.get("name")
        if not isinstance(name, str):
            keys = ", ".join(map(str, value)) or "nothing"
            raise ValueError(f"a tool call must have a name, a string; got {keys}")  # noqa: TRY004  (it is data)

        def first(*keys: str) -> Any:
            return next((value[key] for key in keys if value.get(key) is not None), None)

        return cls(first("id", "call_id"), name, first("arguments", "input", "parameters"))

    def __hash__(self) -> int:
        return hash((self.id, self.name))

    def __repr__(self) -> str:
        return f"ToolCall(id={self.id!r}, name={self.name!r}, arguments={self._arguments!r})"


def _copied(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Copy nested dicts, lists and tuples as dicts and lists; a loop, because models may send any depth."""
    root = dict(arguments)
    copies: dict[int, tuple[Any, Any]] = {id(arguments): (arguments, root)}  # an original must live as long as its id
    pending: list[Any] = [root]
    while pending:
        container = pending.pop()
        for key, value in list(container.items() if type(container) is dict else enumerate(container)):
            if isinstance(value, dict | list | tuple):
                if id(value) not in copies:
                    copies[id(value)] = value, dict(value) if isinstance(value, dict) else list(value)
                    pending.append(copies[id(value)][1])
                container[key] = copies[id(value)][1]
    return root
