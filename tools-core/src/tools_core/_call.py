"""`ToolCall`: what a model asks for."""

from __future__ import annotations

from collections.abc import Mapping

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from typing import Any


class ToolCall:
    """A request to call the tool `name`; `arguments` are as the provider sent them, parsed or JSON text.

    The text is kept as it came, so that bad JSON is refused by the tool, as a result, and a round trip is exact.
    """

    __slots__ = ("_given", "id", "name")

    def __init__(self, id: str | None, name: str, arguments: Mapping[str, Any] | str | None = None) -> None:
        if not isinstance(name, str):
            raise TypeError(f"the name of a tool is a string, got {type(name).__name__}")
        if not isinstance(arguments, Mapping | str | None):
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
        """The arguments, parsed; InvalidArguments when the text is no JSON object."""
        if not isinstance(self._given, str):
            return dict(self._given or {})
        from tools_core._json import parse  # most calls go to a tool, which parses by itself

        return parse(self._given, exactly=True)[1]

    @property
    def given(self) -> Mapping[str, Any] | str | None:
        """The arguments as they came."""
        return self._given

    def to_dict(self) -> dict[str, Any]:
        """`id`, `name` and `arguments`, text left text; `from_dict` is the exact inverse."""
        arguments = dict(self._given) if isinstance(self._given, Mapping) else self._given
        return {"id": self.id, "name": self.name, "arguments": arguments}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> ToolCall:
        """Read a call; `call_id` for `id`, and `input` or `parameters` for `arguments`, are understood."""
        name = value.get("name")
        if not isinstance(name, str):
            # A ValueError: the data came from outside, nobody called this function wrongly.
            raise ValueError(  # noqa: TRY004
                f"a tool call needs a name, a string; got {', '.join(map(str, value)) or 'nothing'}"
            )
        arguments = next(
            (value[key] for key in ("arguments", "input", "parameters") if value.get(key) is not None), None
        )
        return cls(value.get("id") or value.get("call_id"), name, arguments)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ToolCall) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.id, self.name))

    def __repr__(self) -> str:
        return f"ToolCall(id={self.id!r}, name={self.name!r}, arguments={self._given!r})"
