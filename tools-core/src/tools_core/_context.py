"""`Context`: what a call knows besides its arguments, and the model never sees."""

from __future__ import annotations

import time

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Any

    Progress = Callable[[float, float | None, str], object]


_JUST_NOW = 1.0  # seconds


class Context:
    """Injected where `execute` asks for it by annotation; every part is optional.

    `state` is the caller's own mapping, `workspace` the folder that file tools stay inside, `timeout` the seconds
    from now until its calls must have ended, `call_id` the provider's id of the call, `on_progress` receives what the
    tool reports. With `enforced=False` the limit is the caller's to watch: a synchronous tool then stays in the calling
    thread, which `Tool.call` could not leave it behind in, and a coroutine is not cancelled. `runtime` is for an
    executor to set: the name of where the call is made.
    """

    __slots__ = (
        "_cancelled", "_limit", "_outer", "_workspace", "call_id", "deadline", "enforced", "on_progress", "runtime",
        "state",
    )  # fmt: skip

    def __init__(
        self,
        *,
        workspace: str | os.PathLike[str] | None = None,
        state: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        call_id: str | None = None,
        on_progress: Progress | None = None,
        enforced: bool = True,
    ) -> None:
        self._workspace = workspace
        self.on_progress = on_progress
        self._outer: Context | None = None
        self._cancelled = False
        self.state: Mapping[str, Any] = {} if state is None else state
        self.call_id = call_id
        self.deadline = None if timeout is None else _after(timeout)
        self._limit = timeout
        self.enforced = enforced
        self.runtime: str | None = None

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
    def outer_deadline(self) -> float | None:
        """The deadline of the context that this one was made from for a call; None where it has none.

        For who keeps calls waiting: the limit of a call may begin when the call does, while its caller's time runs on.
        """
        return None if self._outer is None else self._outer.deadline

    def as_set(self, seconds: float) -> float:
        """The limit to tell of a call that began with so many seconds left: as it was set, if that was only just now.

        To a hundredth, since another process may have set it a moment after its caller did.
        """
        limit = self._limit
        told = limit if limit is not None and abs(limit - seconds) < _JUST_NOW else seconds
        return round(told + 0.0005, 2) or told

    @property
    def cancelled(self) -> bool:
        """Whether the caller no longer waits: a tool that works in steps should ask between them, and return."""
        return self._cancelled or (self._outer is not None and self._outer.cancelled)

    def cancel(self) -> None:
        """Tell the tool that nobody waits any longer."""
        self._cancelled = True

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Report how far the work has come, in units of the tool's own."""
        if self.on_progress is not None:
            self.on_progress(done, total, message)

    def for_call(self, timeout: float | None = None, call_id: str | None = None) -> Context:
        """The context of one call: cancelled with this one, its deadline the nearer of the two."""
        inner = object.__new__(Context)  # once for each call: half the time of going through __init__
        inner._workspace = self._workspace
        inner.on_progress = self.on_progress
        inner._outer = self
        inner._cancelled = False
        inner.state = self.state
        inner.call_id = call_id or self.call_id
        inner.enforced = self.enforced
        inner.runtime = self.runtime
        inner.deadline = self.deadline
        inner._limit = self._limit
        if timeout is not None:
            own = _after(timeout)
            if inner.deadline is None or own < inner.deadline:
                inner.deadline = own
                inner._limit = timeout
        return inner


def _after(timeout: float) -> float:
    if not 0 < timeout < 1e9:
        raise ValueError(f"timeout is in seconds and above 0, got {timeout!r}; leave it out for no limit")
    return time.monotonic() + timeout
