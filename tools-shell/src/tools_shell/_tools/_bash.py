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
    """Run a bash script in the workspace and wait until it ends.

    Use it for programs, builds, tests, version control and pipelines. Prefer job_start for servers and anything that
    runs on after the call, and the file tools for reading and editing files. Returns stdout and stderr in order, then
    a line such as [exit 3 after 1.2 s]. Output beyond 30,000 characters is cut in the middle. Each call is a new shell
    in the workspace; calls with the same `session` share the folder, variables, functions and options. Background
    processes end with the script. There may be a sandbox: files outside of the workspace are hidden or read-only,
    there is no network, and temporary files are removed at the end.
    """

    def execute(
        self,
        command: Annotated[str, "The script."],
        timeout: Annotated[float, "Seconds until the script is ended.", Limits(ge=1, le=LONGEST)] = DEFAULT,
        workdir: Annotated[str, "The folder to start in, relative to the workspace."] = ".",
        stdin: Annotated[str, "Text for standard input; empty by default."] = "",
        session: Annotated[str, "Name of the session to continue; created on first use."] = "",
        *,
        context: Context,
    ) -> Result:
        check_script(command)
        limit = limit_of(timeout, context.remaining)  # without the time to prepare the sandbox
        shell = shell_program(self._shell)
        arguments = [shell] if session else script_arguments(shell, command)
        output = Output(self.redactor())
        with self.prepared(context, workdir, arguments, has_stdin=bool(stdin)) as prepared:
            facts: dict[str, Any] = {}
            notes: list[str] = []
            if session:
                until = time.monotonic() + limit
                with self._held(session, prepared, until, context) as held:
                    ended, is_saved = held.run(
                        command,
                        prepared,
                        output,
                        stays=workdir != ".",
                        stdin=encoded(stdin),
                        limit=max(until - time.monotonic(), 0.01),
                        cancelled=output.watch(context),
                    )
                facts["session"] = session
                notes += [] if is_saved else ["the state of this script was not saved: the session is as it was before"]
            else:
                cancelled = output.watch(context)
                ended = run(start(prepared), output, stdin=encoded(stdin), limit=limit, cancelled=cancelled)
        facts |= exit_of(ended.returncode)
        return report(output, facts, ended, prepared.isolation, notes=notes)

    def _held(self, name: str, command: Command, until: float, context: Context) -> AbstractContextManager[BashSession]:
        isolation = command.isolation
        visible = (*isolation.seen.readable, *isolation.seen.writable) if isolation.is_sandbox else ()
        settings = json.dumps({**self._approval_settings(), "env": None})
        owner = owner_of(context, self._root)
        return held_session(owner, name, settings, visible, until, lambda: context.cancelled)
