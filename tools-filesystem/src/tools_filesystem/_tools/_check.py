"""The user's own check of changed files, such as a linter: its output is added to the result.

`[check]` in the user's `settings.toml` has `command` (text for `sh`, or a list of words), to which the changed files
are added; `files`, patterns of the files that it is for; and `timeout` in seconds.
"""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_core import ToolError
from tools_core.files import user_settings
from tools_filesystem._search._path_pattern import PathPattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_core import Context

_SECONDS = 10.0
_MAX_SHOWN = 4000  # characters
_KEYS = {"command", "files", "timeout"}


class _Settings(NamedTuple):
    command: list[str]
    files: list[str]
    timeout: float


def checked(folder: str, paths: Sequence[str], context: Context) -> str:
    """Return what the user's check says of changed files, given by their real paths; empty if there is nothing."""
    try:
        table = user_settings("check")
        if not table:
            return ""
        settings = _read(table)
        pattern = PathPattern(*settings.files, anywhere=True)
    except (ValueError, ToolError) as error:
        return f"[no check: {error}]"
    names = [path.removeprefix(f"{folder.rstrip('/')}/") for path in paths]
    files = [f"./{name}" for name in names if pattern.matches(name)]
    return _run(settings, folder, files, context) if files else ""


def _read(table: dict[str, Any]) -> _Settings:
    unknown = sorted(table.keys() - _KEYS)
    if unknown:
        raise ValueError(f"[check] of settings.toml has no {unknown[0]!r}; it has {', '.join(sorted(_KEYS))}")
    command, files = table.get("command"), table.get("files", "*")
    if isinstance(command, str) and command.strip():
        command = ["/bin/sh", "-c", f'{command} "$@"', "sh"]
    files = [files] if isinstance(files, str) else files
    for name, value in (("command", command), ("files", files)):
        if not (isinstance(value, list) and value and all(isinstance(item, str) and item for item in value)):
            raise ValueError(f"{name} in [check] of settings.toml must be text, or a list of texts")
    timeout = table.get("timeout", _SECONDS)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= 600:
        raise ValueError("timeout in [check] of settings.toml must be a number of seconds up to 600")
    return _Settings(list(command or ()), files, float(timeout))


def _run(settings: _Settings, folder: str, files: Sequence[str], context: Context) -> str:
    left = context.remaining
    seconds = settings.timeout if left is None else min(settings.timeout, 0.8 * left)
    try:
        process = subprocess.Popen(  # the user's own command, not the model's
            [*settings.command, *files], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, process_group=0,
        )  # fmt: skip
    except OSError as error:
        return f"[no check: {settings.command[0]}: {error.strerror}]"
    unregister = context.on_cancel(lambda: _kill(process))
    end = ""
    try:
        output = process.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        _kill(process)
        output = process.communicate()[0]
        end = f"stopped after {seconds:.3g} s"
    finally:
        unregister()
    text = output.decode(errors="replace").strip()
    if not text and not process.returncode:
        return ""
    more = len(text) - _MAX_SHOWN
    excerpt = f"{text[:_MAX_SHOWN]}\n[{more} more characters]" if more > 0 else text
    end = end or f"exit code {process.returncode}"
    return "\n".join(filter(None, (f"[check, {end}:]", excerpt)))


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
