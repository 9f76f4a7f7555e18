"""A `Context` that remembers what was reported through it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tools_core import Context

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping


class Progress(NamedTuple):
    """One report of a tool: how far, of how much, and what it said."""

    done: float
    total: float | None
    message: str


class RecordingContext(Context):
    """A Context for tests: `reports` has the progress of every call made with it, in order."""

    __slots__ = ("reports",)

    def __init__(
        self,
        *,
        workspace: str | os.PathLike[str] | None = None,
        state: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        call_id: str | None = None,
    ) -> None:
        super().__init__(workspace=workspace, state=state, timeout=timeout, call_id=call_id, on_progress=self._record)
        self.reports: list[Progress] = []

    def _record(self, done: float, total: float | None, message: str) -> None:
        self.reports.append(Progress(done, total, message))
