"""What a tool on the cluster knows besides its arguments."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tools_core import Context


def pack(context: Context, dumps: Callable[[Any], bytes]) -> dict[str, Any]:
    """What the caller's context says; an item of the state that cannot be pickled stays behind."""
    items: dict[Any, bytes] = {}
    refused: dict[Any, str] = {}
    for key, value in context.state.items():
        try:
            items[key] = dumps(value)
        except Exception as error:  # noqa: BLE001  (anybody's class)
            refused[key] = f"{type(error).__name__}: {error}"
    place = None if context.workspace is None else str(context.workspace.absolute())
    return {"workspace": place, "call_id": context.call_id, "items": items, "refused": refused}


class State(Mapping[Any, Any]):
    """The caller's state, as far as it could be sent; each item is made when it is asked for."""

    def __init__(self, packed: Mapping[Any, bytes], refused: Mapping[Any, str]) -> None:
        self._packed = packed
        self._refused = refused
        self._made: dict[Any, Any] = {}

    def __getitem__(self, key: Any) -> Any:
        if key not in self._made:
            if key in self._refused:
                raise KeyError(f"{key!r} could not be sent to another process ({self._refused[key]})")
            self._made[key] = pickle.loads(self._packed[key])  # noqa: S301  (the caller's own)
        return self._made[key]

    def __contains__(self, key: object) -> bool:
        return key in self._packed

    def __iter__(self) -> Iterator[Any]:
        return iter(self._packed)

    def __len__(self) -> int:
        return len(self._packed)
