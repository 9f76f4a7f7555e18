"""What the tools with sessions have in common."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from tools_shell._session import Session
from tools_shell._sessions import Sessions, ShellSessions, sessions_of
from tools_shell._shell_tool import ShellTool

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Unpack

    from tools_core import Context
    from tools_shell._shell_tool import Settings

    class SessionSettings(Settings, total=False):
        """The same of every tool with sessions; see `SessionTool`."""

        most: int
        idle: float
        busy: Literal["wait", "refuse"]


S = TypeVar("S", bound=Session[Any])


class SessionTool(ShellTool, Generic[S], abstract=True):
    """Runs something in named sessions of the kind `kind`."""

    kind: type[S]

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        *,
        most: int = 8,
        idle: float = 1800,
        busy: Literal["wait", "refuse"] = "wait",
        **settings: Unpack[Settings],
    ) -> None:
        """There are at most `most` sessions: for a new one, that which was used longest ago is closed.

        One that was not used for `idle` seconds may be closed, too. A call for a session that another call uses waits
        its turn, or with `busy="refuse"` is refused.
        """
        super().__init__(root, **settings)
        self._most = most
        self._idle = idle
        self._busy: Literal["wait", "refuse"] = busy
        self._own = ShellSessions()

    def close(self) -> None:
        """End the tool's own sessions."""
        self._own.close()

    def sessions(self, context: Context) -> Sessions[S]:
        """Those that a call may use: each owner has its own, and each workspace."""
        root = os.fspath(self._root or context.workspace or os.environ.get("ASK_TOOLS_WORKSPACE") or ".")
        key = (self, root if root.startswith("/") else os.path.abspath(root))
        return sessions_of(context, self._own).table(key, self._table)

    def use(self, name: str, until: float, context: Context) -> AbstractContextManager[S]:
        """Hold the session of that name."""
        sessions, wait = self.sessions(context), until - time.monotonic()
        return sessions.use(name, wait, busy=self._busy, cancelled=lambda: context.cancelled)

    def _table(self) -> Sessions[S]:
        return Sessions(self.kind, self.kind.close, stop=self.kind.stop, most=self._most, idle=self._idle)
