"""Limits on how many calls run at once, shared by all threads and event loops of the process."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future
from contextvars import ContextVar
from threading import Lock
from typing import TYPE_CHECKING

from tools_runtime._drive import Wait

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tools_core import Context
    from tools_runtime._drive import Steps

# The gates that the current call has passed: calls from inside the tool do not enter them again.
passed: ContextVar[tuple[Gate, ...]] = ContextVar("tools_runtime_passed_gates", default=())


class Gate:
    """Lets `limit` calls in at once, in the order of their arrival."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._free = limit
        self._waiting: deque[Future[None]] = deque()
        self._lock = Lock()

    def enter(self) -> Future[None] | None:
        """Enter, or return a future that is done when it is this call's turn; call `leave` after either."""
        with self._lock:
            if self._free:
                self._free -= 1
                return None
            turn: Future[None] = Future()
            self._waiting.append(turn)
            return turn

    def leave(self) -> None:
        """Make room for the next call."""
        with self._lock:
            turn = self._next()
            if turn is None:
                self._free += 1
        if turn is not None:
            turn.set_result(None)

    def withdraw(self, turn: Future[None]) -> None:
        """Stop waiting; a turn that has come meanwhile passes to the next call."""
        if not turn.cancel():
            self.leave()

    def _next(self) -> Future[None] | None:
        while self._waiting:
            turn = self._waiting.popleft()
            if turn.set_running_or_notify_cancel():
                return turn
        return None


def enter_all(gates: Iterable[Gate], context: Context) -> Steps[tuple[Gate, ...] | None]:
    """Enter gates in their order, and return them; None if the deadline or a cancellation came first."""
    entered: list[Gate] = []
    for gate in gates:
        turn = gate.enter()
        if turn is None:
            entered.append(gate)
            continue
        try:
            yield Wait(turn, context, context.deadline)
        except BaseException:  # the task was cancelled, or its event loop closed
            gate.withdraw(turn)
            leave_all(entered)
            raise
        if not turn.done() or context.cancelled:
            gate.withdraw(turn)
            leave_all(entered)
            return None
        entered.append(gate)
    return tuple(entered)


def leave_all(gates: Iterable[Gate]) -> None:
    """Leave gates."""
    for gate in gates:
        gate.leave()


def check_concurrency(limit: object) -> None:
    """Raise ValueError unless a limit is None or an integer of at least 1."""
    if limit is not None and not (isinstance(limit, int) and not isinstance(limit, bool) and limit >= 1):
        raise ValueError(f"max_concurrency must be an integer of at least 1, or None for no limit; got {limit!r}")
