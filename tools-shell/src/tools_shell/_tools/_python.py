"""The `python` tool."""

from __future__ import annotations

import base64
import os
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

from tools_core import Context, Image, Limits, Result, ToolError
from tools_core.files import config_path, workspace_path
from tools_shell._grants import granted_python
from tools_shell._guard._repository import layout_of
from tools_shell._output import Output
from tools_shell._process._run import DEFAULT, LONGEST, limit_of
from tools_shell._python._kernel import Kernel, executable, folders_of, project_python
from tools_shell._python._python_sessions import Key, python_sessions
from tools_shell._redactor import encoded
from tools_shell._report import exit_of, exit_text, report
from tools_shell._settings import Sandbox
from tools_shell._tools._shell_tool import ShellTool
from tools_shell._workspace import owner_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Unpack

    from tools_shell._process._run import Outcome
    from tools_shell._python._kernel import Reply
    from tools_shell._tools._shell_tool import Settings

_FOREVER = 1e6  # seconds


class Python(ShellTool):
    """Run Python code in the workspace and wait for its end.

    Use it for computing, data and plots; bash to run programs and tests. Returns printed output, the value of the last
    expression, and the traceback of an exception; shows figures of matplotlib, and an image as the last value. `await`
    works at the top level. Each call is a new interpreter; calls with the same `session` share variables, imports and
    functions, which usually survive a timeout. Output over 30,000 characters is cut in the middle. In a sandbox there
    is no network, and files outside the workspace are hidden or read-only.
    """

    stateful = True

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        *,
        interpreter: str | os.PathLike[str] | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        """`interpreter` is a program or the folder of a virtual environment.

        By default it is `python` in `[sandbox]` of the user's settings, unless `sandbox` is a Sandbox; or that of
        `.venv`, `venv` or `env` in the workspace or at the top of its repository, or that of the active environment, if
        it has Python 3.11 or later; or else that of this process.
        """
        super().__init__(root, **settings)
        self._env.setdefault("MPLBACKEND", "Agg")  # draw figures into images, not windows
        is_for_users = interpreter is None and not isinstance(settings.get("sandbox"), Sandbox)
        self._named = granted_python() if is_for_users else None
        self._interpreter = None if interpreter is None else self._program(interpreter)

    def _interpreter_of(self, context: Context) -> str:
        """Return the interpreter for code in a workspace; ToolError if there is none."""
        if self._interpreter is not None:
            return self._interpreter
        if self._named is not None:
            import shutil  # rare

            path = self._named if os.path.isabs(self._named) else shutil.which(self._named)
            if path is None:
                raise self._unavailable(f"there is no {self._named!r} on PATH")
            return self._program(path)
        root = os.path.realpath(workspace_path(self._root or context.workspace))
        top = layout_of(root, os.path.realpath(os.path.expanduser("~"))).top
        return project_python([root, top] if top else [root]) or self._program(None)

    def _program(self, path: str | os.PathLike[str] | None) -> str:
        """Return the program for an interpreter or environment, by default that of this process; or ToolError."""
        if (program := executable(path)) is not None:
            return program
        place = os.fspath(path or sys.executable or "sys.executable")
        raise self._unavailable(f"there is no Python at {place!r}")

    def _unavailable(self, problem: str) -> ToolError:
        advice = "pass Python 3.11 or later as Python(interpreter=...)"
        if self._named is not None:
            advice = f"python in [sandbox] of {config_path('settings.toml')} must name Python 3.11 or later"
        return ToolError(f"{problem}; {advice}", "unavailable")

    def _approval_settings(self) -> dict[str, Any]:
        return {**super()._approval_settings(), "interpreter": self._interpreter or self._named}

    def execute(
        self,
        code: Annotated[str, "Python source code."],
        session: Annotated[str, "Name of a session to start or continue."] = "",
        timeout: Annotated[float, "Time limit in seconds.", Limits(ge=1, le=LONGEST)] = DEFAULT,
        workdir: Annotated[str, "Folder to start in, relative to the workspace; not with session."] = ".",
        stdin: Annotated[str, "Text for standard input; not with session."] = "",
        *,
        context: Context,
    ) -> Result:
        if not code.strip():
            raise ToolError("code must not be empty", "validation_error")
        if session and (stdin or workdir != "."):
            message = "session excludes stdin and workdir: use os.chdir, or omit session"
            raise ToolError(message, "validation_error")
        python = self._interpreter_of(context)
        limit = limit_of(timeout, context.remaining)  # without the time to prepare the sandbox
        output = Output(self.redactor())
        cancelled = output.watch(context)
        if not session:
            kernel = self._start(python, context, workdir, encoded(stdin), script=code)
            outcome, reply = kernel.run_once(code, output, limit, cancelled)
            return self._result(context, output, outcome, reply, kernel, exit_of(outcome.returncode), [])
        until = time.monotonic() + limit
        key = Key(owner_of(context, self._root), repr((python, self._sandbox)), session)
        with python_sessions.use(key, until, lambda: context.cancelled) as python_session:
            kernel, notes = python_session.ready(
                lambda: self._start(python, context, ".", b"", is_lasting=True), output
            )
            left = max(until - time.monotonic(), 0.01)
            outcome, reply = kernel.run(code, output, left, lambda: cancelled() or python_session.is_closed)
        more = {"session": session}
        if kernel.lost is not None:
            more |= exit_of(outcome.returncode)
            notes.append(f"the session has ended ({kernel.lost}) and its variables are lost")
        elif outcome.reason is not None:
            notes.append("the code was interrupted; the variables of the session remain")
        return self._result(context, output, outcome, reply, kernel, more, notes)

    def run(
        self,
        code: str,
        context: Context,
        *,
        setup: str,
        env: Mapping[str, str],
        descriptors: Sequence[int],
    ) -> Result:
        """Run code in a new interpreter for another tool, and wait for its end or the end of the context.

        Args:
            code: Python source code.
            context: The workspace, the deadline and the cancellation; without a deadline there is no time limit.
            setup: Code that runs first, in the same namespace. Tracebacks omit functions that it compiles as `<setup>`.
            env: Variables in addition to the environment of this tool.
            descriptors: Descriptors that the interpreter inherits under their numbers, and that are closed here: with a
                socket, the code can send requests to this process.
        """
        limit = limit_of(_FOREVER, context.remaining)
        output = Output(self.redactor())
        cancelled = output.watch(context)
        python = self._interpreter or self._program(None)
        kernel = self._start(python, context, ".", b"", env=env, descriptors=descriptors)
        outcome, reply = kernel.run(setup, output, limit, cancelled)
        if reply is None or "traceback" in reply:
            kernel.end("the setup failed")
        else:
            outcome, reply = kernel.run_once(code, output, limit, cancelled)
        return self._result(context, output, outcome, reply, kernel, exit_of(outcome.returncode), [])

    def _result(
        self,
        context: Context,
        output: Output,
        outcome: Outcome,
        reply: Reply | None,
        kernel: Kernel,
        more: Mapping[str, Any],
        notes: list[str],
    ) -> Result:
        if reply is None and outcome.reason is None and not kernel.has_started:
            raise self._unavailable(_failed_start(kernel, outcome, output))
        images = [Image(base64.b64decode(image)) for image in (reply or {}).pop("images", "").split()]
        facts = {name: self.redactor().clean(text) for name, text in (reply or {}).items()}
        record: dict[str, Any] = {"value": facts.get("value"), **more}
        answer = ""
        if "value" in facts:
            answer = f"=> {facts['value']}\n"
        if "traceback" in facts:
            record["error"] = {name: facts[name] for name in ("type", "message", "traceback")}
            answer = f"{facts['traceback']}\n"
        if "exit_code" in facts:
            record["exit_code"] = int(facts["exit_code"])
        if images:
            record["images"] = list(map(str, images))
        if "note" in facts:
            notes.append(facts["note"])
        return report(output, record, outcome, kernel.isolation, context, answer=answer, notes=notes, images=images)

    def _start(
        self,
        python: str,
        context: Context,
        workdir: str,
        stdin: bytes,
        *,
        is_lasting: bool = False,
        script: str | None = None,
        env: Mapping[str, str] | None = None,
        descriptors: Sequence[int] = (),
    ) -> Kernel:
        folders, has_stdin = folders_of(python), bool(stdin)
        remaining = descriptors
        try:
            with self.prepared(
                context, workdir, [python], readable=folders, has_stdin=has_stdin, is_lasting=is_lasting, script=script
            ) as command:
                remaining = ()  # the kernel closes them
                environment = {**command.environment, **(env or {})}
                try:
                    return Kernel(command._replace(environment=environment, extra=descriptors), stdin)
                except OSError as error:
                    raise self._unavailable(f"{python} cannot be started: {error.strerror or error}") from error
        finally:
            for descriptor in remaining:
                os.close(descriptor)


def _failed_start(kernel: Kernel, outcome: Outcome, output: Output) -> str:
    first_line = output.text().strip().partition("\n")[0]
    message = f"{kernel.program} did not start ({exit_text(exit_of(outcome.returncode))})"
    return f"{message}: {first_line}" if first_line else message
