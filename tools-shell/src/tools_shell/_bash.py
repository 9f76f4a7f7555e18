"""The `bash` tool."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING, Annotated, Any

from tools_core import Context, Effects, Limits, Result, ToolError
from tools_shell._background._terminal import check_lines
from tools_shell._facts import circumstances, conclude, ending, stopped, streams_of
from tools_shell._process._run import LONGEST, limit_of, run
from tools_shell._session_tool import SessionTool
from tools_shell._shell._hints import script_effects
from tools_shell._shell._program import check_script, script_arguments, shell_program
from tools_shell._shell._session import ScriptSession
from tools_shell._text import encoded

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from typing import Unpack

    from tools_shell._session_tool import SessionSettings
    from tools_shell._shell._bash_session import BashSession


class Bash(SessionTool[ScriptSession]):
    """Run a bash script in the workspace and wait for its end.

    Use it for programs, builds, tests, version control and pipelines. Returns stdout, stderr and exit_code or signal;
    an exit code other than 0 is a fact to read, not a failure of the tool. Of long output the first and the last 64 KiB
    of each stream are kept; secrets in it are shown as [redacted NAME]. Nothing persists between calls but files in the
    workspace, and what is started in the background is ended with the script; in a `session` the folder, variables and
    functions are kept, and what runs in the background goes on, until a script says `exit`. With `isolation` bubblewrap
    or landlock it ran in a sandbox: files outside the workspace are hidden or read-only, temporary files end with it,
    and there may be no network. Refuses a workdir outside the workspace; a script that runs past its timeout is ended
    with all that it started, and in a session it is interrupted.
    """

    kind = ScriptSession

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        *,
        shell: str | None = None,
        **settings: Unpack[SessionSettings],
    ) -> None:
        """`shell` is a program that takes `-c -- script`; for sessions it must be a bash."""
        super().__init__(root, **settings)
        self._shell = shell

    def effects(self, arguments: Mapping[str, Any], context: Context | None = None) -> Effects:
        """See Tool: the hints and commands of this very script, as far as its parts prove them."""
        return script_effects(arguments, self._shell, super().effects(arguments, context))

    def _approval_settings(self) -> dict[str, Any]:
        return {**super()._approval_settings(), "shell": self._shell}

    def execute(
        self,
        command: Annotated[str, "The script, as you would type it into bash."],
        timeout: Annotated[float, "Seconds that it may run.", Limits(ge=1, le=LONGEST)] = 30,
        workdir: Annotated[str, "The folder to start in, relative to the workspace; a session begins there."] = ".",
        stdin: Annotated[str, "What the script reads from its standard input; empty without it."] = "",
        env: Annotated[
            dict[str, str] | None, "Variables to add to the environment, which has few of the host's."
        ] = None,
        tty: Annotated[bool, "Run on a terminal, for programs that need one; stderr is then part of stdout."] = False,
        session: Annotated[
            str, "The name of a session to run in, made when it is first used; without it the shell is new."
        ] = "",
        *,
        context: Context,
    ) -> Result:
        check_script(command)
        limit = limit_of(timeout, context.remaining)  # the time to prepare a sandbox does not count
        shell = shell_program(self._shell)
        if session:
            if tty:
                raise ToolError("a session has no terminal: give either session or tty", "validation_error")
            until = time.monotonic() + limit
            start = functools.partial(self._start, shell, context, workdir, env)
            is_beginning = workdir != "." or bool(env)
            with self.use(session, until, context) as found:
                return found.run(
                    command,
                    encoded(stdin),
                    until,
                    context,
                    start,
                    is_beginning=is_beginning,
                    redactor=self.redactor,
                )
        if tty:
            check_lines(encoded(stdin))
        arguments = script_arguments(shell, command)
        with self.prepared(context, workdir, arguments, env=env, has_stdin=bool(stdin), terminal=tty) as prepared:
            ended = run(
                prepared,
                stdin=encoded(stdin),
                limit=limit,
                cancelled=lambda: context.cancelled,
            )
        isolation = prepared.isolation
        facts = streams_of(ended, self.redactor()) | ending(ended.returncode, isolation.rung)
        facts |= circumstances(ended, isolation, "script")
        return conclude(facts, isolation, stopped(ended, "script"))

    def _start(self, shell: str, context: Context, workdir: str, env: Mapping[str, str] | None) -> BashSession:
        from tools_shell._shell._bash_session import BashSession  # needs what only POSIX has

        with self.prepared(context, workdir, [shell], env=env) as prepared:
            return BashSession(prepared)
