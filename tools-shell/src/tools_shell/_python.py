"""The `python` tool."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Annotated, Any

from tools_core import Context, Limits, Result, ToolError
from tools_shell._code._host import run_once
from tools_shell._code._interpreter import default_interpreter, executable, folders_of, variables
from tools_shell._code._result import facts_of
from tools_shell._facts import circumstances, conclude, ending, stopped
from tools_shell._process._run import LONGEST, limit_of
from tools_shell._shell_tool import ShellTool
from tools_shell._text import encoded

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from typing import Unpack

    from tools_shell._shell_tool import Settings


class Python(ShellTool):
    """Run Python code in a fresh interpreter, in the workspace, and wait for its end.

    Returns the value of the last expression, stdout, stderr and exit_code. An exception is a fact to read, not a
    failure of the tool: `error` has its type, message and traceback. Figures of matplotlib and pictures that are the
    last value are shown. `await` works at the top level. Nothing persists between calls but files in the workspace. Of
    long output the first and the last 64 KiB are kept; secrets in it are shown as [redacted NAME]. With `isolation`
    bubblewrap or landlock it ran in a sandbox: files outside the workspace are hidden or read-only, and there may be no
    network. Code that runs past its timeout is ended with all that it started. Refuses a workdir outside the workspace.
    """

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        *,
        interpreters: Mapping[str, str | os.PathLike[str]] | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        """`interpreters` are those to choose from by name, each a program or the folder of a virtual environment.

        The first is the default; without any it is the one that runs the tool.
        """
        super().__init__(root, **settings)
        self._interpreters = {name: executable(path) for name, path in (interpreters or {}).items()}
        if self._interpreters:
            self.description = f"{self.description}\n\nInterpreters: {', '.join(self._interpreters)}."

    def _approval_settings(self) -> dict[str, Any]:
        return {**super()._approval_settings(), "interpreters": self._interpreters}

    def execute(
        self,
        code: Annotated[str, "The program, as you would write it into a file."],
        timeout: Annotated[float, "Seconds that it may run.", Limits(ge=1, le=LONGEST)] = 30,
        workdir: Annotated[str, "The folder to start in, relative to the workspace."] = ".",
        stdin: Annotated[str, "What the program reads from its standard input; empty without it."] = "",
        interpreter: Annotated[str | None, "The name of the interpreter; leave it out for the usual one."] = None,
        *,
        context: Context,
    ) -> Result:
        if not code.strip():
            raise ToolError("code must not be empty: give the program to run", "validation_error")
        limit = limit_of(timeout, context.remaining)  # the time to prepare a sandbox does not count
        python = self._chosen(interpreter)
        env, readable = variables(self._env), functools.partial(folders_of, python, limit)
        with self.prepared(context, workdir, [python], env=env, readable=readable, has_stdin=bool(stdin)) as command:
            ended, reply = run_once(
                command,
                code,
                stdin=encoded(stdin),
                limit=limit,
                cancelled=lambda: context.cancelled,
            )
        isolation = command.isolation
        facts = facts_of(ended, reply, self.redactor()) | ending(ended.returncode, isolation.rung)
        facts |= circumstances(ended, isolation, "code")
        return conclude(facts, isolation, stopped(ended, "code"), () if reply is None else reply.images)

    def _chosen(self, name: str | None) -> str:
        if name is None:
            return next(iter(self._interpreters.values()), None) or default_interpreter()
        if name not in self._interpreters:
            known = ", ".join(self._interpreters) or "none; leave it out"
            raise ToolError(f"no interpreter {name!r}; there is {known}", "validation_error")
        return self._interpreters[name]
