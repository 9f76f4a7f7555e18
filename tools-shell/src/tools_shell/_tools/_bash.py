"""The `bash` tool."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Annotated, Any

from tools_core import Context, Limits, Result
from tools_shell._bash._bash_sessions import session as held_session
from tools_shell._output import Output
from tools_shell._process._run import DEFAULT, LONGEST, limit_of, run
from tools_shell._redactor import encoded
from tools_shell._report import exit_of, report
from tools_shell._sandbox._start import start
from tools_shell._tools._script_tool import ScriptTool, check_script, script_arguments, shell_program
from tools_shell._workspace import owner_of

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from tools_shell._bash._bash_sessions import BashSession
    from tools_shell._sandbox._command import Command


class Bash(ScriptTool):
    """Run a bash script in the workspace and wait for its end.

    Use it for programs, builds, tests, git and pipelines; job_start for servers and everything that outlives the call;
    the file tools to read and edit files. Returns stdout and stderr in order, then a line such as [exit 3 after 1.2 s].
    Output over 30,000 characters is cut in the middle. Each call is a new shell in the workspace; calls with the same
    `session` share folder, variables, functions, aliases and options. Background processes end with the script. In a
    sandbox there is no network, files outside the workspace are hidden or read-only, and /tmp is kept for the
    conversation.
    """

    def execute(
        self,
        command: Annotated[str, "Bash script to run."],
        timeout: Annotated[float, "Time limit in seconds.", Limits(ge=1, le=LONGEST)] = DEFAULT,
        workdir: Annotated[str, "Folder to start in, relative to the workspace."] = ".",
        stdin: Annotated[str, "Text for standard input."] = "",
        session: Annotated[str, "Name of a session to start or continue."] = "",
        *,
        context: Context,
    ) -> Result:
        check_script(command)
        limit = limit_of(timeout, context.remaining)  # without the time to prepare the sandbox
        shell = shell_program(self._shell)
        arguments = [shell] if session else script_arguments(shell, command)
        output = Output(self.redactor())
        plain = self._commands({"command": command, "session": session}) or ()
        with self.prepared(
            context, workdir, arguments, has_stdin=bool(stdin), script=command, commands=plain
        ) as prepared:
            facts: dict[str, Any] = {}
            notes: list[str] = []
            if session:
                until = time.monotonic() + limit
                with self._held(session, prepared, until, context) as bash_session:
                    outcome, is_saved = bash_session.run(
                        command,
                        prepared,
                        output,
                        stays=workdir != ".",
                        stdin=encoded(stdin),
                        limit=max(until - time.monotonic(), 0.01),
                        cancelled=output.watch(context),
                    )
                facts["session"] = session
                notes += [] if is_saved else ["the state of this script was not saved; the session is as before it"]
            else:
                cancelled = output.watch(context)
                outcome = run(start(prepared), output, stdin=encoded(stdin), limit=limit, cancelled=cancelled)
        facts |= exit_of(outcome.returncode)
        return report(output, facts, outcome, prepared.isolation, context, notes=notes, script=command)

    def _held(self, name: str, command: Command, until: float, context: Context) -> AbstractContextManager[BashSession]:
        isolation = command.isolation
        visible = (*isolation.view.readable, *isolation.view.writable) if isolation.is_sandbox else ()
        settings = json.dumps({**self._approval_settings(), "env": None})
        owner = owner_of(context, self._root)
        return held_session(owner, name, settings, visible, until, lambda: context.cancelled)
