"""The `bash` tool."""

from __future__ import annotations

import functools
import os
import signal
from typing import TYPE_CHECKING, Annotated, Any

from tools_core import Context, Limits, Result, Tool, ToolError
from tools_shell._environment import clean_environment
from tools_shell._process import GRACE, Ended, run
from tools_shell._workspace import open_workdir

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST = 600
# What a caller must not rely on yet; it travels with every result.
_ISOLATION = {"isolation": "none", "not_isolated": ["files", "network", "resources", "detached processes"]}


class Bash(Tool):
    """Run a bash script in the workspace and wait for its end.

    Use it for programs, builds, tests, version control and pipelines. Returns stdout, stderr and exit_code;
    an exit code other than 0 is a fact to read, not a failure of the tool. Of long output the first and the
    last 64 KiB of each stream are kept. stdin is empty, nothing persists between calls but files, and
    background processes are ended with the script. Refuses a workdir outside the workspace; a script that
    runs past its timeout is ended.
    """

    destructive = True
    open_world = True
    requires_approval = True
    tags = ("shell",)

    def __init__(
        self, root: str | None = None, *, env: Mapping[str, str] | None = None, shell: str | None = None
    ) -> None:
        """`env` is added to the clean environment; `shell` is a program that takes `-c -- script`."""
        self._root = root
        self._env = dict(env or {})
        self._shell = shell

    def execute(
        self,
        command: Annotated[str, "The script, as you would type it into bash."],
        timeout: Annotated[float, "Seconds that it may run.", Limits(ge=1, le=_LONGEST)] = 30,
        workdir: Annotated[str, "The folder to start in, relative to the workspace."] = ".",
        *,
        context: Context,
    ) -> Result:
        _check(command, workdir)
        shell = self._shell or _default_shell()
        with open_workdir(self._root, context, workdir) as directory:
            try:
                ended = run(
                    [shell, "-c", "--", command],
                    environment={**clean_environment(), **self._env},
                    directory=directory,
                    limit=_limit(timeout, context.remaining),
                    cancelled=lambda: context.cancelled,
                )
            except OSError as error:
                raise _unstartable(error, shell) from error
        return _result(ended)


def _check(command: str, workdir: str) -> None:
    if os.name != "posix":
        message = "bash needs Linux or macOS: this system has no process groups to end a script by"
        raise ToolError(message, "unavailable")
    if not command.strip():
        raise ToolError("command must not be empty: give the script to run", "validation_error")
    if "\0" in command or "\0" in workdir:
        raise ToolError("command and workdir must not contain NUL characters", "validation_error")


@functools.cache
def _default_shell() -> str:
    import shutil  # once

    return "/bin/bash" if os.access("/bin/bash", os.X_OK) else shutil.which("bash") or "/bin/sh"


def _limit(timeout: float, remaining: float | None) -> float:
    if remaining is None:
        return timeout
    # The caller stops waiting at its deadline: the output is worth more than the last moments of the script.
    return min(timeout, max(remaining - 1.5 * GRACE, remaining / 2))


def _unstartable(error: OSError, shell: str) -> ToolError:
    import errno  # only for a failure

    if error.errno == errno.E2BIG:
        message = "command is too long for the system; write it to a file and run that"
        return ToolError(message, "limit_exceeded")
    return ToolError(f"{shell} cannot be started: {error.strerror}", "unavailable")


def _result(ended: Ended) -> Result:
    output = _output(ended)
    if ended.reason is None:
        return Result.ok(output, metadata=_ISOLATION)
    seconds = f"{ended.duration:.1f} s"
    if ended.reason == "cancelled":
        message, kind = f"the call was cancelled after {seconds} and the script was ended", "cancelled"
    else:
        message = (
            f"the script did not end within its limit and was ended after {seconds}; "
            f"give it a longer timeout (up to {_LONGEST}), or less to do"
        )
        kind = "timeout_error"
    return Result.error(message + _last_words(output), type=kind, metadata={**output, **_ISOLATION})


def _output(ended: Ended) -> dict[str, Any]:
    """The facts; those that are rare are there only when they apply."""
    streams = {"stdout": ended.stdout.text(), "stderr": ended.stderr.text()}
    output: dict[str, Any] = {name: stream.text for name, stream in streams.items()}
    code = ended.returncode
    output["exit_code"] = code if code is not None and code >= 0 else None
    if code is not None and code < 0:
        output["signal"] = _signal_name(-code)
    output["timed_out"] = ended.reason == "limit"
    output["duration"] = round(ended.duration, 3)
    if left_out := {name: stream.left_out for name, stream in streams.items() if stream.left_out}:
        output["truncated_bytes"] = left_out
    if invalid := [name for name, stream in streams.items() if not stream.is_utf8]:
        output["not_utf8"] = invalid
    if ended.held:
        output["background"] = "processes that the script left behind were ended"
    return output


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # real-time signals have no names
        return f"signal {number}"


def _last_words(output: Mapping[str, Any], limit: int = 1000) -> str:
    """The end of what was written, since a model reads nothing but the message of an error."""
    shown = [f"{name} ended with:\n{output[name][-limit:]}" for name in ("stdout", "stderr") if output[name]]
    return "".join(f"\n{text}" for text in shown)
