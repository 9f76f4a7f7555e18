"""`Context`: data of a call that the model does not see."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

Progress: TypeAlias = Callable[[float, float | None, str], object]


class Context:
    """Data of a call that the model does not see, passed to an `execute` that has a parameter annotated `Context`.

    ```python
    tool.call({"city": "Oslo"}, Context(workspace="notes", timeout=30, state={"user": "ada"}))
    ```

    Args:
        workspace: The folder that file tools stay inside.
        state: The caller's own mapping, passed unchanged.
        timeout: The seconds from now until calls must have ended.
        call_id: The provider's id of the call.
        run_id: The id of one conversation or batch, the key of whatever tools remember between calls; random if it is
            None. Calls without a context share one run per process.
        on_progress: Receives the tool's reports.
        enforced: False if the caller watches the limit.
    """

    def __init__(
        self,
        *,
        workspace: str | os.PathLike[str] | None = None,
        state: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        call_id: str | None = None,
        run_id: str | None = None,
        on_progress: Progress | None = None,
        enforced: bool = True,
    ) -> None:
        self._workspace = workspace
        self.state: Mapping[str, Any] = {} if state is None else state
        self.timeout = timeout
        self.timeout_set_by = "the caller"
        self.deadline = None if timeout is None else _after(timeout)
        self.call_id = call_id
        self.run_id = os.urandom(8).hex() if run_id is None else run_id
        self.on_progress = on_progress
        self.enforced = enforced
        self.caller: object = None  # the run of an agent that makes the call
        self._outer: Context | None = None
        self._cancelled = False
        self._callbacks: dict[object, tuple[Context, Callable[[], object]]] = {}  # of derived contexts, too

    @property
    def workspace(self) -> Path | None:
        """The folder that file tools stay inside; None leaves it to the tool."""
        return None if self._workspace is None else Path(self._workspace)

    @property
    def remaining(self) -> float | None:
        """Seconds until the deadline, at least 0; None without one."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    @property
    def cancelled(self) -> bool:
        """True if the caller no longer waits: tools check this between steps, and return."""
        return self._cancelled or (self._outer is not None and self._outer.cancelled)

    def cancel(self) -> None:
        """Cancel this context and derived ones, and run their callbacks; from any thread."""
        self._cancelled = True
        for key, (context, _) in self._callbacks.copy().items():
            if context.cancelled:
                self._run(key)

    def on_cancel(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call `callback` once, in the thread that cancels; immediately if the context is already cancelled.

        Returns a function that unregisters it. An exception in a callback is logged and stops no other callback.
        """
        key = object()

        def unregister() -> None:
            self._callbacks.pop(key, None)

        self._callbacks[key] = self, callback
        if self.cancelled:  # perhaps by a thread that did not see the callback yet
            self._run(key)
        return unregister

    def _run(self, key: object) -> None:
        if (registered := self._callbacks.pop(key, None)) is None:
            return  # another thread runs it, or it was unregistered
        try:
            registered[1]()
        except Exception:
            import logging  # 6 ms

            logging.getLogger("tools_core").exception("A callback of Context.on_cancel raised an exception")

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Report progress, in any unit."""
        if self.on_progress is not None:
            self.on_progress(done, total, message)

    def for_call(
        self, timeout: float | None = None, call_id: str | None = None, *, set_by: str = "the tool"
    ) -> Context:
        """Derive the context of one call: cancelled with this one, and with the nearer of the two deadlines.

        `timeout` and `timeout_set_by` of a context describe the limit that its deadline comes from, for messages.
        """
        inner = object.__new__(Context)
        vars(inner).update(vars(self), _outer=self, _cancelled=False, call_id=call_id or self.call_id)
        if timeout is not None:
            deadline = _after(timeout)
            if inner.deadline is None or deadline < inner.deadline:
                inner.deadline, inner.timeout, inner.timeout_set_by = deadline, timeout, set_by
        return inner

    def __repr__(self) -> str:
        return f"<Context run_id={self.run_id!r} call_id={self.call_id!r}{' cancelled' if self.cancelled else ''}>"


_PROCESS_RUN_ID = os.urandom(8).hex()


def process_context() -> Context:
    """Return a context for a call without one: all of them belong to one run, with a random id per process."""
    return Context(run_id=_PROCESS_RUN_ID)


def _after(timeout: float) -> float:
    if not 0 < timeout < 1e9:
        raise ValueError(f"timeout must be between 0 and 1e9 seconds, got {timeout:g}; omit it for no limit")
    return time.monotonic() + timeout
