"""The `bash` tool."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tools_core import Context, Limits, Result, ToolError
from tools_shell._facts import ending, isolation_of, last_words, streams_of
from tools_shell._process._run import LONGEST, limit_of, run
from tools_shell._sessions import Sessions, ShellSessions, sessions_of
from tools_shell._shell._hints import hints_of
from tools_shell._shell._program import check_script, encoded, script_arguments, shell_program, unstartable
from tools_shell._shell._session import ShellSession
from tools_shell._shell_tool import ShellTool

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from tools_shell._process._run import Ended
    from tools_shell._sandbox._isolation import Isolation
    from tools_shell._secrets import Redactor
    from tools_shell._shell._bash_session import BashSession


class Bash(ShellTool):
    """Run a bash script in the workspace and wait for its end.

    Use it for programs, builds, tests, version control and pipelines. Returns stdout, stderr and exit_code; an exit
    code other than 0 is a fact to read, not a failure of the tool. Of long output the first and the last 64 KiB of each
    stream are kept. Nothing persists between calls but files, and what is started in the background is ended with the
    script; in a `session` the folder, variables and functions are kept, and what runs in the background goes on, until
    a script says `exit`. `isolation` says how far it was kept from the rest of the machine: in a sandbox files outside
    the workspace are hidden or read-only, and there may be no network. Refuses a workdir outside the workspace; a
    script that runs past its timeout is ended with all that it started, and in a session it is interrupted.
    """

    def __init__(
        self,
        *args: Any,
        shell: str | None = None,
        most: int = 8,
        idle: float = 1800,
        busy: Literal["wait", "refuse"] = "wait",
        **settings: Any,
    ) -> None:
        """`shell` is a program that takes `-c -- script`; for sessions it must be a bash.

        There are `most` sessions at most, the one used longest ago gives way; after `idle` seconds without use one may
        be closed. `busy` says what becomes of a call for a session that another call uses.
        """
        super().__init__(*args, **settings)
        self._shell = shell
        self._most = most
        self._idle = idle
        self._busy: Literal["wait", "refuse"] = busy
        self._own = ShellSessions()

    def annotations_for(self, arguments: Mapping[str, Any]) -> Mapping[str, bool]:
        """See Tool; what the parts of the script prove."""
        return hints_of(self._shell, arguments, self.annotations)

    def execute(
        self,
        command: Annotated[str, "The script, as you would type it into bash."],
        timeout: Annotated[float, "Seconds that it may run.", Limits(ge=1, le=LONGEST)] = 30,
        workdir: Annotated[str, "The folder to start in, relative to the workspace."] = ".",
        stdin: Annotated[str, "What the script reads from its standard input; empty without it."] = "",
        env: Annotated[dict[str, str] | None, "Variables to add to the environment."] = None,
        tty: Annotated[bool, "Run on a terminal, for programs that need one; stderr is then part of stdout."] = False,
        session: Annotated[str, "The name of a session to run in; a new one is made when it is first used."] = "",
        *,
        context: Context,
    ) -> Result:
        check_script(command)
        shell = shell_program(self._shell)
        if session:
            if tty:
                raise ToolError("a session has no terminal: give either session or tty", "validation_error")
            until = time.monotonic() + limit_of(timeout, context.remaining)
            start = functools.partial(self._start, shell, context, workdir, env)
            with self._session(session, until, context) as found:
                try:
                    return found.run(
                        command,
                        encoded(stdin),
                        until,
                        context,
                        start,
                        is_beginning=workdir != "." or bool(env),
                        redactor=self.redactor,
                    )
                except OSError as error:
                    raise unstartable(error, shell) from error
        arguments = script_arguments(shell, command)
        with self.prepared(context, workdir, arguments, env=env, has_stdin=bool(stdin), terminal=tty) as prepared:
            try:
                ended = run(
                    prepared,
                    stdin=encoded(stdin),
                    limit=limit_of(timeout, context.remaining),
                    cancelled=lambda: context.cancelled,
                )
            except OSError as error:
                raise unstartable(error, shell) from error
        return _result(ended, prepared.isolation, self.redactor())

    def close(self) -> None:
        """End the tool's own sessions."""
        self._own.close()

    def _session(self, name: str, until: float, context: Context) -> AbstractContextManager[ShellSession]:
        table = sessions_of(context, self._own).table(self.sessions_key(context), self._table)
        return table.use(name, until - time.monotonic(), busy=self._busy, cancelled=lambda: context.cancelled)

    def _table(self) -> Sessions[ShellSession]:
        return Sessions(ShellSession, ShellSession.close, most=self._most, idle=self._idle)

    def _start(self, shell: str, context: Context, workdir: str, env: Mapping[str, str] | None) -> BashSession:
        from tools_shell._shell._bash_session import BashSession  # needs what only POSIX has

        with self.prepared(context, workdir, [shell], env=env) as prepared:
            return BashSession(prepared)


def _result(ended: Ended, isolated: Isolation, redactor: Redactor) -> Result:
    facts = streams_of(ended.stdout, ended.stderr, redactor) | ending(ended.returncode, isolated.rung)
    facts |= {"timed_out": ended.reason == "limit", "duration": round(ended.duration, 3), "isolation": isolated.rung}
    isolation = isolation_of(isolated)
    if ended.left_behind:
        facts["background"] = "processes that the script left behind were ended"
    if not ended.is_gone:
        facts["survivors"] = "some processes could not be ended: they hang inside the kernel"
    if ended.reason is None:
        return Result.ok(facts, metadata=isolation)
    message, kind = _why(ended)
    return Result.error(message + last_words(facts), type=kind, metadata={**facts, **isolation})


def _why(ended: Ended) -> tuple[str, str]:
    seconds = f"{ended.duration:.1f} s"
    if ended.reason == "cancelled":
        return f"the call was cancelled after {seconds} and the script was ended", "cancelled"
    if ended.reason == "limit":
        message = (
            f"the script did not end within its limit and was ended after {seconds}; "
            f"give it a longer timeout (up to {LONGEST}), or less to do"
        )
        return message, "timeout_error"
    return f"killed: {ended.reason} (after {seconds}); use less, or split the work", "limit_exceeded"
