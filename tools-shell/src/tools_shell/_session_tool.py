"""What the tools with sessions have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from tools_shell._owner import owner_of
from tools_shell._session import Session
from tools_shell._sessions import Sessions
from tools_shell._shell_tool import ShellTool

if TYPE_CHECKING:
    import os
    from contextlib import AbstractContextManager
    from typing import Unpack

    from tools_core import Context
    from tools_shell._sessions import Listed
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
    stateful = True

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        *,
        most: int = 8,
        idle: float = 1800,
        busy: Literal["wait", "refuse"] = "wait",
        **settings: Unpack[Settings],
    ) -> None:
        """A run has at most `most` sessions in a workspace: for a new one, that which was used longest ago is closed.

        One that was not used for `idle` seconds may be closed, too. A call for a session that another call uses waits
        its turn, or with `busy="refuse"` is refused.
        """
        super().__init__(root, **settings)
        self._busy: Literal["wait", "refuse"] = busy
        self._sessions: Sessions[S] = Sessions(self.kind, most=most, idle=idle)

    def close(self) -> None:
        """End the sessions of this tool, of all runs."""
        self._sessions.close_all()

    def listed(self, context: Context) -> list[Listed]:
        """The sessions of the run in this workspace."""
        return self._sessions.listed(owner_of(context, self._root))

    def close_session(self, name: str, wait: float, context: Context) -> bool:
        """Close a session, for which a call may wait; returns whether there was one."""
        return self._sessions.close(owner_of(context, self._root), name, wait)

    def use(self, name: str, until: float, context: Context) -> AbstractContextManager[S]:
        """Hold the session of that name."""
        owner = owner_of(context, self._root)
        return self._sessions.use(owner, name, until if self._busy == "wait" else 0, lambda: context.cancelled)
