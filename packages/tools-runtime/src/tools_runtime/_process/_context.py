"""What a tool in a worker knows besides its arguments."""

from __future__ import annotations

import os
import pickle
import socket
from typing import TYPE_CHECKING, Any

from tools_core import Context
from tools_runtime._state import State
from tools_runtime._state import pack as pack_state

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tools_runtime._process._main_module import Loader


def pack(context: Context | None, call_id: str | None) -> bytes:
    """What the host's context says, for the worker; an item of the state that cannot be pickled stays behind."""
    if context is None:
        return pickle.dumps((None, call_id, {}, {}, False))
    items, refused = pack_state(context.state, pickle.dumps)
    workspace = context.workspace
    place = None if workspace is None else os.path.abspath(workspace)
    return pickle.dumps((place, context.call_id, items, refused, context.on_progress is not None))


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
            state: Mapping[Any, Any] = State(items, refused, loader.load)
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
