"""The background jobs that end with the command."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from types import ModuleType

from tools_cli._terminal._prompt import terminal_dialog
from tools_core import Context
from tools_core.command import counted, note
from tools_runtime.approval import Line

_POLL = 0.1  # seconds


def offer_to_wait() -> None:
    """Ask the person on the terminal whether to wait for the jobs that run; Ctrl-C ends the wait."""
    if not (running := _running()):
        return
    with terminal_dialog(Context()) as dialog:
        if dialog is None:
            return
        dialog.show([Line.of("title", f"{counted(len(running), 'job')} still running:")])
        dialog.show([Line.of("text", job, "  ") for job in running])
        if not (dialog.ask("wait until the end? (y/n) ") or "").strip().lower().startswith("y"):
            return
    try:
        while _running():
            time.sleep(_POLL)
    except KeyboardInterrupt:
        note("no longer waiting")


def end_jobs() -> None:
    """End the jobs of all tools, and name the jobs that were running."""
    for module in _modules("end_jobs"):
        for job in module.end_jobs():
            note(f"ended with this command: {job}")


def _running() -> list[str]:
    return [job for module in _modules("running_jobs") for job in module.running_jobs()]


def _modules(name: str) -> Iterator[ModuleType]:
    """Yield the packages of tools with a function; jobs belong to packages that are not imported here."""
    for package, module in sys.modules.copy().items():
        if "." not in package and name in getattr(module, "__dict__", {}).get("__all__", ()):
            yield module
