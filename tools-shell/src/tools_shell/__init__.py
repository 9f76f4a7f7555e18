"""Commands and code that always end, with bounded output, in the best sandbox of the machine.

Each name is loaded when it is first used: the process that supervises commands needs none of them.
"""

from __future__ import annotations

TYPE_CHECKING: bool = False  # with a type, jedi reads the block as well
if TYPE_CHECKING:
    from tools_shell._settings import Resources, Sandbox
    from tools_shell._tools._bash import Bash
    from tools_shell._tools._job_input import JobInput
    from tools_shell._tools._job_output import JobOutput
    from tools_shell._tools._job_start import JobStart
    from tools_shell._tools._job_stop import JobStop, end_jobs, end_run, running_jobs
    from tools_shell._tools._python import Python

__all__ = [
    "Bash",
    "JobInput",
    "JobOutput",
    "JobStart",
    "JobStop",
    "Python",
    "Resources",
    "Sandbox",
    "end_jobs",
    "end_run",
    "running_jobs",
]

_HOMES = {
    "Bash": "_tools._bash",
    "JobInput": "_tools._job_input",
    "JobOutput": "_tools._job_output",
    "JobStart": "_tools._job_start",
    "JobStop": "_tools._job_stop",
    "Python": "_tools._python",
    "Resources": "_settings",
    "Sandbox": "_settings",
    "end_jobs": "_tools._job_stop",
    "end_run": "_tools._job_stop",
    "running_jobs": "_tools._job_stop",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'tools_shell' has no attribute {name!r}")
    from importlib import import_module  # built in; needs no further module

    value: object = getattr(import_module(f"tools_shell.{_HOMES[name]}"), name)
    globals()[name] = value  # found directly from now on
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
