"""`Context`: data of a call that the model does not see."""

from __future__ import annotations

import time
from os import urandom
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping
    from pathlib import Path

    Progress = Callable[[float, float | None, str], object]


class Context:
    """Injected where `execute` asks for it by annotation; every part is optional.

    `workspace` is the folder that file tools stay inside, `state` the caller's own mapping, `timeout` the seconds from
    now until its calls must have ended, `call_id` the provider's id of the call, `run_id` names one conversation or
    batch: whatever is remembered between calls is keyed by it. Calls without a context share one run per process.
    `on_progress` receives the tool's reports. With `enforced=False` the caller watches the limit.
    """

    __slots__ = (
        "_callbacks", "_cancelled", "_outer", "_run_ids", "_workspace", "call_id", "deadline", "enforced",
        "on_progress", "state", "timeout", "timeout_set_by",
    )  # fmt: skip

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
        self.on_progress = on_progress
        self._outer: Context | None = None
        self._cancelled = False
        self._callbacks: dict[object, Callable[[], None]] = {}
        self._run_ids: list[str] = [] if run_id is None else [run_id]  # shared with the contexts made from this one
        self.state: Mapping[str, Any] = {} if state is None else state
        self.call_id = call_id
        self.deadline = None if timeout is None else _after(timeout)
        self.timeout = timeout
        self.timeout_set_by = "the caller"
        self.enforced = enforced

    @property
    def run_id(self) -> str:
        """The name of the run; random where none was given, and the same in all contexts made from one."""
        if not self._run_ids:  # another thread may append as well: the first one counts
            self._run_ids.append(urandom(8).hex())
        return self._run_ids[0]

    @property
    def workspace(self) -> Path | None:
        """The folder that file tools stay inside; None leaves it to the tool."""
        if self._workspace is None:
            return None
        from pathlib import Path  # 5 ms that tools without files never pay

        return Path(self._workspace)

    @property
    def remaining(self) -> float | None:
        """Seconds until the deadline, at least 0; None without one."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    @property
    def cancelled(self) -> bool:
        """True when the caller no longer waits: a tool that works in steps checks this between them, and returns."""
        return self._cancelled or (self._outer is not None and self._outer.cancelled)

    def cancel(self) -> None:
        """Cancel this context and those made from it, and run their callbacks; from any thread."""
        self._cancelled = True
        for key in list(self._callbacks):
            callback = self._callbacks.pop(key, None)
            if callback is not None:
                callback()

    def on_cancel(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call `callback` once, in the thread that cancels; at once if the context is cancelled already.

        Returns a function that unregisters it. An exception in a callback is logged and stops no other callback.
        """
        pending, key = [callback], object()  # whoever pops the callback calls it: no two threads can
        contexts: list[Context] = [self]
        while (outer := contexts[-1]._outer) is not None:
            contexts.append(outer)

        def unregister() -> None:
            pending.clear()
            for context in contexts:
                context._callbacks.pop(key, None)

        def run() -> None:
            try:
                popped = pending.pop()
            except IndexError:
                return
            unregister()
            _run(popped)

        for context in contexts:
            context._callbacks[key] = run
        if self.cancelled:  # perhaps since a moment ago, by a thread that did not see the callback
            run()
        return unregister

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Report how far the work has come, in units of the tool's own."""
        if self.on_progress is not None:
            self.on_progress(done, total, message)

    def for_call(
        self, timeout: float | None = None, call_id: str | None = None, *, set_by: str = "the tool"
    ) -> Context:
        """Make the context of one call: cancelled with this one, its deadline the nearer of the two.

        `timeout` and `timeout_set_by` of a context describe the limit that gave it its deadline, for messages.
        """
        inner = object.__new__(Context)  # once for each call: half the time of going through __init__
        inner._workspace = self._workspace
        inner.on_progress = self.on_progress
        inner._outer = self
        inner._cancelled = False
        inner._callbacks = {}
        inner._run_ids = self._run_ids
        inner.state = self.state
        inner.call_id = call_id or self.call_id
        inner.enforced = self.enforced
        inner.deadline = self.deadline
        inner.timeout = self.timeout
        inner.timeout_set_by = self.timeout_set_by
        if timeout is not None:
            own = _after(timeout)
            if inner.deadline is None or own < inner.deadline:
                inner.deadline = own
                inner.timeout = timeout
                inner.timeout_set_by = set_by
        return inner


_PROCESS_RUN_ID = urandom(8).hex()


def process_context() -> Context:
    """Return a context for a call without one: all of them belong to one run, with a random id per process."""
    return Context(run_id=_PROCESS_RUN_ID)


def _run(callback: Callable[[], object]) -> None:
    try:
        callback()
    except Exception:
        import logging  # 5 ms, only for a callback that fails

        logging.getLogger("tools_core").exception("A callback of Context.on_cancel raised an exception")


def _after(timeout: float) -> float:
    if not 0 < timeout < 1e9:
        raise ValueError(f"timeout is in seconds and above 0, got {timeout!r}; leave it out for no limit")
    return time.monotonic() + timeout
