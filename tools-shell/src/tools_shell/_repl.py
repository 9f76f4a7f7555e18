"""The `repl` tool."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tools_core import Context, Limits, Result, ToolError
from tools_shell._code._host import Kernel
from tools_shell._code._interpreter import default_interpreter, executable, folders_of, variables
from tools_shell._code._session import ReplSession
from tools_shell._process._run import LONGEST, limit_of
from tools_shell._session_tool import SessionTool

if TYPE_CHECKING:
    import os
    from typing import Unpack

    from tools_shell._session_tool import SessionSettings
    from tools_shell._sessions import Listed


class Repl(SessionTool[ReplSession]):
    """Run Python code in a session that keeps its variables, imports and functions from call to call.

    Returns the value of the last expression (also in `_`), stdout and stderr. An exception is a fact to read, not a
    failure of the tool: `error` has its type, message and traceback, and the session goes on. Figures of matplotlib and
    pictures that are the last value are shown. `await` works at the top level; stdin is empty. Sessions begin in the
    workspace, and share nothing but its files. With `isolation` bubblewrap or landlock they are in a sandbox: other
    files are hidden or read-only, and there may be no network. Code that runs past its timeout is interrupted, and the
    variables are kept; when it does not give way the session is lost, and the next call begins a new one.
    """

    kind = ReplSession

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        *,
        interpreter: str | os.PathLike[str] | None = None,
        **settings: Unpack[SessionSettings],
    ) -> None:
        """`interpreter` is a program or the folder of a virtual environment; by default it is the one that runs us."""
        super().__init__(root, **settings)
        self._interpreter = None if interpreter is None else executable(interpreter)

    def _approval_settings(self) -> dict[str, Any]:
        return {**super()._approval_settings(), "interpreter": self._interpreter}

    def execute(
        self,
        code: Annotated[str, "The code; not needed to reset, list or close."] = "",
        session: Annotated[str, "The name of the session; a new one is made when it is first used."] = "default",
        timeout: Annotated[float, "Seconds that the code may run.", Limits(ge=1, le=LONGEST)] = 30,
        reset: Annotated[bool, "Begin the session anew, then run the code."] = False,
        action: Annotated[
            Literal["run", "list", "close"], "Run the code, list all sessions, or close this one."
        ] = "run",
        *,
        context: Context,
    ) -> Result:
        if action == "list":
            return Result.ok([_listed(found) for found in self.listed(context)])
        until = time.monotonic() + limit_of(timeout, context.remaining)
        if action == "close":
            return self._closed(session, until - time.monotonic(), context)
        if not code.strip() and not reset:
            raise ToolError(
                "code must not be empty: give the code to run, or reset, or another action", "validation_error"
            )
        with self.use(session, until, context) as found:
            if reset:
                found.close()
            if not code.strip():
                return Result.ok({"session": session, "reset": True})
            return found.run(code, until, context, functools.partial(self._start, context, until), self.redactor)

    def _closed(self, name: str, wait: float, context: Context) -> Result:
        if self.close_session(name, wait, context):
            return Result.ok({"session": name, "closed": True})
        names = [found.name for found in self.listed(context)]
        known = f"there is {', '.join(names)}" if names else "there is none"
        return Result.error(f"no session {name!r}; {known}", type="not_found")

    def _start(self, context: Context, until: float) -> Kernel:
        python = self._interpreter or default_interpreter()
        limit = max(until - time.monotonic(), 0)
        env, readable = variables(self._env), functools.partial(folders_of, python, limit)
        with self.prepared(context, ".", [python], env=env, readable=readable) as command:
            return Kernel(command)


def _listed(found: Listed) -> dict[str, Any]:
    return {"session": found.name, "busy": found.is_busy, "idle_seconds": round(found.idle, 1)}
