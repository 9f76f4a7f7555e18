"""The caller's state on its way to another process: each item by itself, as far as it can be pickled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tools_runtime._log import said

if TYPE_CHECKING:
    from collections.abc import Callable


def pack(state: Mapping[Any, Any], dumps: Callable[[Any], bytes]) -> tuple[dict[Any, bytes], dict[Any, str]]:
    """The items that can be sent, and why others cannot."""
    items: dict[Any, bytes] = {}
    refused: dict[Any, str] = {}
    for key, value in state.items():
        try:
            items[key] = dumps(value)
        except Exception as error:  # noqa: BLE001  (anybody's class)
            refused[key] = said(error)
    return items, refused


class State(Mapping[Any, Any]):
    """What came of a state; each item is made when it is asked for, and one that stayed behind says so."""

    def __init__(self, packed: Mapping[Any, bytes], refused: Mapping[Any, str], loads: Callable[[bytes], Any]) -> None:
        self._packed = packed
        self._refused = refused
        self._loads = loads
        self._made: dict[Any, Any] = {}

    def __getitem__(self, key: Any) -> Any:
        if key not in self._made:
            if key in self._refused:
                raise KeyError(f"{key!r} could not be sent to another process ({self._refused[key]})")
            self._made[key] = self._loads(self._packed[key])
        return self._made[key]

    def __contains__(self, key: object) -> bool:
        return key in self._packed

    def __iter__(self) -> Iterator[Any]:
        return iter(self._packed)

    def __len__(self) -> int:
        return len(self._packed)
