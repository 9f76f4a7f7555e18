"""The `python` tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from tools_core import Context, Limits, Result, ToolError
from tools_shell._code._host import run_once
from tools_shell._code._interpreter import default_interpreter, executable, folders_of, variables
from tools_shell._code._result import facts_of, failure, success
from tools_shell._facts import ending
from tools_shell._process._run import LONGEST, limit_of
from tools_shell._shell_tool import ShellTool

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from tools_shell._code._reply import Reply
    from tools_shell._process._run import Ended
    from tools_shell._sandbox._isolation import Isolation
    from tools_shell._secrets import Redactor


class Python(ShellTool):
    """Run Python code in a fresh interpreter, in the workspace, and wait for its end.

    Returns the value of the last expression, stdout, stderr and exit_code. An exception is a fact to read, not a
    failure of the tool: `error` has its type, message and traceback. Figures of matplotlib and pictures that are the
    last value are shown. `await` works at the top level. Nothing persists between calls but files. Of long output the
    first and the last 64 KiB are kept; code that runs past its timeout is ended with all that it started. Refuses a
    workdir outside the workspace.
    """

    def __init__(
        self, *args: Any, interpreters: Mapping[str, str | os.PathLike[str]] | None = None, **settings: Any
    ) -> None:
        """`interpreters` are those to choose from by name, each a program or the folder of a virtual environment.

        The first is the default; without any it is the one that runs the tool.
        """
        super().__init__(*args, **settings)
        self._interpreters = {name: executable(path) for name, path in (interpreters or {}).items()}
        if self._interpreters:
            self.description = f"{self.description}\n\nInterpreters: {', '.join(self._interpreters)}."

    def execute(
        self,
        code: Annotated[str, "The program, as you would write it into a file."],
        timeout: Annotated[float, "Seconds that it may run.", Limits(ge=1, le=LONGEST)] = 30,
        workdir: Annotated[str, "The folder to start in, relative to the workspace."] = ".",
        stdin: Annotated[str, "What the program reads from its standard input."] = "",
        interpreter: Annotated[str | None, "The name of the interpreter; leave it out for the usual one."] = None,
        *,
        context: Context,
    ) -> Result:
        if not code.strip():
            raise ToolError("code must not be empty: give the program to run", "validation_error")
        python = self._chosen(interpreter)
        settings: dict[str, Any] = {
            "env": variables(self._env), "readable": folders_of(python), "has_stdin": bool(stdin)
        }  # fmt: skip
        with self.prepared(context, workdir, [python], **settings) as command:
            try:
                ended, reply = run_once(
                    command,
                    code,
                    stdin=stdin.encode("utf-8", "surrogatepass"),
                    limit=limit_of(timeout, context.remaining),
                    cancelled=lambda: context.cancelled,
                )
            except OSError as error:
                raise ToolError(f"{python} cannot be started: {error.strerror}", "unavailable") from error
        return _result(ended, reply, command.isolation, self.redactor())

    def _chosen(self, name: str | None) -> str:
        if name is None:
            return next(iter(self._interpreters.values()), None) or default_interpreter()
        if name not in self._interpreters:
            known = ", ".join(self._interpreters) or "none; leave it out"
            raise ToolError(f"no interpreter {name!r}; there is {known}", "validation_error")
        return self._interpreters[name]


def _result(ended: Ended, reply: Reply | None, isolation: Isolation, redactor: Redactor) -> Result:
    facts = facts_of(reply, ended.stdout, ended.stderr, redactor)
    facts |= ending(ended.returncode, isolation.rung)
    facts |= {"timed_out": ended.reason == "limit", "duration": round(ended.duration, 3)}
    facts["isolation"] = isolation.rung
    if ended.left_behind:
        facts["background"] = "processes that the code left behind were ended"
    if not ended.is_gone:
        facts["survivors"] = "some processes could not be ended: they hang inside the kernel"
    if ended.reason is None:
        return success(facts, reply, isolation)
    after = f"after {ended.duration:.1f} s"
    if ended.reason == "cancelled":
        return failure(f"the call was cancelled {after} and the code was ended", "cancelled", facts, isolation)
    if ended.reason == "limit":
        message = (
            f"the code did not end within its limit and was ended {after}; "
            f"give it a longer timeout (up to {LONGEST}), or less to do"
        )
        return failure(message, "timeout_error", facts, isolation)
    return failure(f"killed: {ended.reason} ({after}); use less, or split the work", "limit_exceeded", facts, isolation)
