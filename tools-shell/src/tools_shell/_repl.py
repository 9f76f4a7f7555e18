"""The `repl` tool."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tools_core import Context, Limits, Result, ToolError
from tools_shell._code._host import Kernel
from tools_shell._code._interpreter import default_interpreter, executable, folders_of, variables
from tools_shell._code._session import ReplSession
from tools_shell._process._run import LONGEST, limit_of
from tools_shell._sessions import Sessions, ShellSessions, sessions_of
from tools_shell._shell_tool import ShellTool

if TYPE_CHECKING:
    import os

    from tools_shell._sessions import Listed


class Repl(ShellTool):
    """Run Python code in a session that keeps its variables, imports and functions from call to call.

    Returns the value of the last expression (also in `_`), stdout and stderr. An exception is a fact to read, not a
    failure of the tool: `error` has its type, message and traceback, and the session goes on. Figures of matplotlib and
    pictures that are the last value are shown. `await` works at the top level; stdin is empty. Sessions of different
    names share nothing. Code that runs past its timeout is interrupted, and the variables are kept; when it does not
    give way the session is lost, and the next call begins a new one.
    """

    def __init__(
        self,
        *args: Any,
        interpreter: str | os.PathLike[str] | None = None,
        most: int = 8,
        idle: float = 1800,
        busy: Literal["wait", "refuse"] = "wait",
        **settings: Any,
    ) -> None:
        """`interpreter` is a program or the folder of a virtual environment; by default it is the one that runs us.

        There are `most` sessions at most, the one used longest ago gives way; after `idle` seconds without use one may
        be closed. `busy` says what becomes of a call for a session that another call uses.
        """
        super().__init__(*args, **settings)
        self._interpreter = None if interpreter is None else executable(interpreter)
        self._most = most
        self._idle = idle
        self._busy: Literal["wait", "refuse"] = busy
        self._own = ShellSessions()

    def execute(
        self,
        code: Annotated[str, "The code; may be empty for a reset, list or close."] = "",
        session: Annotated[str, "The name of the session; a new one is made when it is first used."] = "default",
        timeout: Annotated[float, "Seconds that the code may run.", Limits(ge=1, le=LONGEST)] = 30,
        reset: Annotated[bool, "Begin the session anew, then run the code."] = False,
        action: Annotated[
            Literal["run", "list", "close"], "Run the code, list all sessions, or close this one."
        ] = "run",
        *,
        context: Context,
    ) -> Result:
        sessions = self._sessions(context)
        if action == "list":
            return Result.ok([_listed(found) for found in sessions.listed()])
        until = time.monotonic() + limit_of(timeout, context.remaining)
        if action == "close":
            return _closed(sessions.close(session, until - time.monotonic()), session, sessions.names())
        if not code.strip() and not reset:
            raise ToolError("code must not be empty: give the code to run", "validation_error")
        wait = until - time.monotonic()
        with sessions.use(session, wait, busy=self._busy, cancelled=lambda: context.cancelled) as found:
            if reset:
                found.close()
            if not code.strip():
                return Result.ok({"session": session, "reset": True})
            return found.run(code, until, context, self._start, self.redactor)

    def close(self) -> None:
        """End the tool's own sessions."""
        self._own.close()

    def _sessions(self, context: Context) -> Sessions[ReplSession]:
        return sessions_of(context, self._own).table(self.sessions_key(context), self._table)

    def _table(self) -> Sessions[ReplSession]:
        return Sessions(ReplSession, ReplSession.close, most=self._most, idle=self._idle)

    def _start(self, context: Context) -> Kernel:
        python = self._interpreter or default_interpreter()
        env, readable = variables(self._env), folders_of(python)
        with self.prepared(context, ".", [python], env=env, readable=readable) as command:
            try:
                return Kernel(command)
            except OSError as error:
                raise ToolError(f"{python} cannot be started: {error.strerror}", "unavailable") from error


def _listed(found: Listed) -> dict[str, Any]:
    return {"session": found.name, "busy": found.is_busy, "idle_seconds": round(found.idle, 1)}


def _closed(was_there: bool, name: str, others: list[str]) -> Result:
    if was_there:
        return Result.ok({"session": name, "closed": True})
    known = f"there is {', '.join(others)}" if others else "there is none"
    return Result.error(f"no session {name!r}; {known}", type="not_found")
