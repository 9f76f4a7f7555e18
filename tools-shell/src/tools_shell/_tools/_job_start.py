"""The `job_start` tool."""

from __future__ import annotations

import math
from typing import Annotated

from tools_core import Context, Limits, Result
from tools_shell._jobs._job import Job
from tools_shell._jobs._table import jobs
from tools_shell._report import bracketed, isolation_of
from tools_shell._tools._script_tool import ScriptTool, check_script, script_arguments, shell_program
from tools_shell._workspace import owner_of


class JobStart(ScriptTool):
    """Start a bash script in the background, for servers, watchers and long builds; returns its id at once.

    Read it with job_output, write to it with job_input, end it with job_stop. The job ends with its script: run the
    long-lived program last, in the foreground (no `&`). At most 32 jobs run at once, and all end with the conversation.
    The last 1 MiB of output can be read. A server answers other calls on localhost, unless the result says otherwise.
    """

    stateful = True

    def execute(
        self,
        command: Annotated[str, "Bash script to run."],
        workdir: Annotated[str, "Folder to start in, relative to the workspace."] = ".",
        stdin: Annotated[bool, "Keep standard input open for job_input."] = False,
        tty: Annotated[bool, "Run on a terminal, for interactive programs; implies stdin."] = False,
        timeout: Annotated[float, "Time limit in seconds; 0 for none.", Limits(ge=0)] = 0,
        *,
        context: Context,
    ) -> Result:
        check_script(command)
        arguments = script_arguments(shell_program(self._shell), command)

        def make(id: str) -> Job:
            with self.prepared(
                context, workdir, arguments, has_stdin=stdin or tty, terminal=tty, is_lasting=True, script=command
            ) as prepared:
                return Job(id, command, timeout or math.inf, prepared, self.redactor())

        job = jobs.start(owner_of(context, self._root), make)
        record = {"id": job.id, "status": "running"}
        remarks = [f"{job.id} started; read it with job_output"]
        if not job.is_reachable:
            remarks.append("other calls cannot reach the ports of this job: they share no network with it")
        return Result.ok(record, content=bracketed("", remarks), metadata=isolation_of(job.isolation))
