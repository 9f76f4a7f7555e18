"""The `job_start` tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from tools_core import Context, Effects, Limits, Result, ToolError
from tools_shell._background._follow import follower
from tools_shell._background._job import About, Job
from tools_shell._background._jobs import jobs
from tools_shell._background._merged import Merged
from tools_shell._facts import isolation_of
from tools_shell._owner import owner_of
from tools_shell._process._launch import start
from tools_shell._shell._hints import script_effects
from tools_shell._shell._program import check_script, script_arguments, shell_program
from tools_shell._shell_tool import ShellTool

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from typing import Unpack

    from tools_shell._process._command import Command
    from tools_shell._shell_tool import Settings


class JobStart(ShellTool):
    """Start a bash script in the background and go on at once, for servers, watchers and what takes long.

    Returns the `id` for job_output, job_input and job_stop. The job ends with its script, so the program to keep
    running comes last and without `&`; what it leaves behind is ended. All jobs end with the conversation, or with the
    process that calls this tool. The last 1 MiB of output is kept. With `isolation` bubblewrap or landlock it runs in a
    sandbox: files outside the workspace are hidden or read-only, and there may be no network: then no other call
    reaches its ports. Refuses when too many jobs are running.
    """

    stateful = True

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        *,
        shell: str | None = None,
        longest: float | None = None,
        most: int = 32,
        **settings: Unpack[Settings],
    ) -> None:
        """`shell` is a program that takes `-c -- script`; `longest` are the seconds that any job may run.

        A run has at most `most` jobs in a workspace: for a new one, the one that ended first is forgotten.
        """
        super().__init__(root, **settings)
        if most < 1:
            raise ValueError(f"most must be at least 1, got {most!r}")
        self._most = most
        self._shell = shell
        self._longest = longest

    def effects(self, arguments: Mapping[str, Any], context: Context | None = None) -> Effects:
        """See Tool: the hints and commands of this very script, as far as its parts prove them."""
        return script_effects(arguments, self._shell, super().effects(arguments, context))

    def _approval_settings(self) -> dict[str, Any]:
        return {**super()._approval_settings(), "shell": self._shell}

    def execute(  # noqa: PLR0913  (its parameters are the model's words)
        self,
        command: Annotated[str, "The script, as you would type it into bash."],
        name: Annotated[str, "A name to know it by in job_list.", Limits(max_length=64)] = "",
        workdir: Annotated[str, "The folder to start in, relative to the workspace."] = ".",
        env: Annotated[
            dict[str, str] | None, "Variables to add to the environment, which has few of the host's."
        ] = None,
        stdin: Annotated[bool, "Keep its standard input open for job_input; else it is empty."] = False,
        tty: Annotated[
            bool, "Run on a terminal, for programs that need one; takes job_input, and stderr is part of stdout."
        ] = False,
        timeout: Annotated[float | None, "Seconds after which it is ended; no limit without it.", Limits(gt=0)] = None,
        keep_all: Annotated[bool, "Keep the last 256 MiB of its output, on disk."] = False,
        *,
        context: Context,
    ) -> Result:
        check_script(command)
        shell = shell_program(self._shell)
        limit = self._limit(timeout)
        arguments = script_arguments(shell, command)
        has_stdin = stdin or tty

        def make(id: str) -> Job:
            with self.prepared(context, workdir, arguments, env=env, has_stdin=has_stdin, terminal=tty) as prepared:
                about = About(id, name, command, has_stdin, tty, limit, prepared.isolation)
                return _started(about, prepared, Merged(self.redactor(), keep_all=keep_all))

        job = jobs.start(owner_of(context, self._root), make, self._most)
        isolation = isolation_of(job.about.isolation)
        facts = {"id": job.about.id, "status": "running", "isolation": isolation["isolation"]}
        return Result.ok(facts, metadata=isolation)

    def _limit(self, timeout: float | None) -> float | None:
        if timeout is not None and self._longest is not None and timeout > self._longest:
            message = f"a job may run for {self._longest:g} s at most; give it a timeout up to that"
            raise ToolError(message, "limit_exceeded")
        return timeout or self._longest


def _started(about: About, command: Command, output: Merged) -> Job:
    followed_by = follower()
    process = start(command)
    job: Job | None = None
    try:
        job = Job(about, process, output, followed_by.wake)
        followed_by.follow(job)
    except BaseException:  # a Ctrl-C, say, may come when it is followed already
        if job is not None:
            followed_by.take_back(job)
        if job is not None and job.is_followed:
            job.kill()
        else:
            process.close()
        raise
    return job
