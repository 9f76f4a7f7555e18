"""`ToolCall`: what a model asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools_core._values._frozen import Frozen


class ToolCall(Frozen):
    """A request to call the tool `name`; `arguments` are as the provider sent them, parsed or JSON text.

    `id` is the provider's, or None. It cannot change: parsed arguments are copied when it is made and whenever they are
    read. Text is kept as it came, so that the tool refuses bad JSON, as a result, and a round trip is exact.
    """

    __slots__ = ("_given", "id", "name")

    def __init__(self, id: str | None, name: str, arguments: Mapping[str, Any] | str | None = None) -> None:
        if not isinstance(name, str):
            raise TypeError(f"the name of a tool is a string, got {type(name).__name__}")
        if isinstance(arguments, Mapping):
            arguments = _copied(arguments)
        elif arguments is not None and not isinstance(arguments, str):
            raise TypeError(f"arguments are a mapping, JSON text or None, got {type(arguments).__name__}")
        self.id = id
        self.name = name
        self._given = arguments

    @property
    def raw(self) -> str | None:
        """The provider's own text of the arguments, if it sent text."""
        return self._given if isinstance(self._given, str) else None

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments, parsed; InvalidArguments when the text is not a JSON object."""
        if not isinstance(self._given, str):
            return _copied(self._given or {})
        from tools_core._values._json import parse  # most calls go to a tool, which parses by itself

        return parse(self._given)

    @property
    def given(self) -> dict[str, Any] | str | None:
        """The arguments as they came: text stays text."""
        given = self._given
        return given if given is None or isinstance(given, str) else _copied(given)

    def to_dict(self) -> dict[str, Any]:
        """`id`, `name` and `arguments`, text left text; `from_dict` is the exact inverse."""
        return {"id": self.id, "name": self.name, "arguments": self.given}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> ToolCall:
        """Read a call; `call_id` for `id`, and `input` or `parameters` for `arguments`, are understood."""
        name = value.get("name")
        if not isinstance(name, str):
            # A ValueError, because the data came from outside.
            raise ValueError(  # noqa: TRY004
                f"a tool call needs a name, a string; got {', '.join(map(str, value)) or 'nothing'}"
            )
        arguments = next(
            (value[key] for key in ("arguments", "input", "parameters") if value.get(key) is not None), None
        )
        id = next((value[key] for key in ("id", "call_id") if value.get(key) is not None), None)
        return cls(id, name, arguments)

    def __eq__(self, other: object) -> bool:
        mine = (self.id, self.name, self._given)
        return isinstance(other, ToolCall) and mine == (other.id, other.name, other._given)

    def __hash__(self) -> int:
        return hash((self.id, self.name))

    def __repr__(self) -> str:
        return f"ToolCall(id={self.id!r}, name={self.name!r}, arguments={self._given!r})"


_SCALARS = frozenset({str, int, float, bool, type(None)})


def _copied(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Copy nested dicts, lists and tuples, to any depth, as dicts and lists."""
    made = dict(arguments)
    if _SCALARS.issuperset(map(type, made.values())):
        return made
    copies: dict[int, tuple[Any, Any]] = {id(arguments): (arguments, made)}  # an original must live as long as its id
    waiting: list[Any] = [made]
    while waiting:
        container = waiting.pop()
        for key, value in list(container.items() if type(container) is dict else enumerate(container)):
            kind = type(value)
            if id(value) not in copies:
                if not issubclass(kind, dict | list | tuple):
                    continue
                copy = dict(value) if issubclass(kind, dict) else list(value)
                copies[id(value)] = value, copy
                waiting.append(copy)
            container[key] = copies[id(value)][1]
    return made
