"""What a tool in a worker knows besides its arguments."""

from __future__ import annotations

import os
import pickle
import socket
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tools_core import Context

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools_runtime._process._main_module import Loader


def pack(context: Context | None, call_id: str | None) -> bytes:
    """What the host's context says, for the worker; an item of the state that cannot be pickled stays behind."""
    if context is None:
        return pickle.dumps((None, call_id, {}, {}, False))
    items: dict[Any, bytes] = {}
    refused: dict[Any, str] = {}
    for key, value in context.state.items():
        try:
            items[key] = pickle.dumps(value)
        except Exception as error:  # noqa: BLE001  (anybody's class)
            refused[key] = f"{type(error).__name__}: {error}"
    workspace = context.workspace
    place = None if workspace is None else os.path.abspath(workspace)
    return pickle.dumps((place, context.call_id, items, refused, context.on_progress is not None))


class State(Mapping[Any, Any]):
    """The caller's state, as far as it could be sent; each item is made when it is asked for."""

    def __init__(self, packed: dict[Any, bytes], refused: dict[Any, str], loader: Loader) -> None:
        self._packed = packed
        self._made: dict[Any, Any] = {}
        self._refused = refused
        self._loader = loader

    def __getitem__(self, key: Any) -> Any:
        if key in self._made:
            return self._made[key]
        if key in self._refused:
            raise KeyError(f"{key!r} could not be sent to another process ({self._refused[key]})")
        value = self._made[key] = self._loader.load(self._packed[key])
        return value

    def __contains__(self, key: object) -> bool:
        return key in self._packed

    def __iter__(self) -> Iterator[Any]:
        return iter(self._packed)

    def __len__(self) -> int:
        return len(self._packed)


class WorkerContext(Context):
    """Asks the socket whether the caller still waits: during a call nothing comes but word that nobody does."""

    __slots__ = ("_connection", "_was_told")

    def __init__(
        self,
        connection: socket.socket,
        was_told: Callable[[], bool],
        *,
        packed: bytes,
        timeout: float | None,
        report: Callable[[float, float | None, str], object],
        loader: Loader,
        enforced: bool,
    ) -> None:
        if packed:
            place, call_id, items, refused, is_reported = pickle.loads(packed)  # noqa: S301  (the host's own)
            state: Mapping[Any, Any] = State(items, refused, loader)
        else:
            place, call_id, state, is_reported = None, None, {}, False
        super().__init__(
            workspace=place,
            state=state,
            timeout=timeout,
            call_id=call_id,
            on_progress=report if is_reported else None,
            enforced=enforced,
        )
        self._connection = connection
        self._was_told = was_told

    @property
    def cancelled(self) -> bool:
        """Whether the caller no longer waits."""
        if super().cancelled or self._was_told():
            return True
        try:
            self._connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:  # somebody has closed it
            return True
        return True
