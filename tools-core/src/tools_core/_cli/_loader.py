"""Load the tools of a package in a separate process, for `doctor`.

A package may hang, crash or end the process when it is imported; then only the separate process ends.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from time import perf_counter
from typing import Any

import tools_core._tools._as_tools  # noqa: F401  (imported here, so that its time is not counted as a package's)
from tools_core._cli._output import CommandError, location
from tools_core._cli._tools import discovered
from tools_core._registry._entry import LoadProblem
from tools_core._registry._entry_points import search_path
from tools_core._registry._registry import Registry
from tools_core._tools._tool import Tool
from tools_core._values._errors import ToolError
from tools_core._values._jsonable import clean

Facts = dict[str, Any]

_DEFAULT_TIMEOUT = 10.0  # seconds
# The path is set first: tools_core may be on no other one.
_CHILD = (
    "import json, sys; request = json.load(sys.stdin); sys.path[:] = request['path']; "
    "from tools_core._cli._loader import serve; serve(request)"
)


def load_in_child(distribution: str, names: Iterable[str]) -> Facts:
    """Load the tools of one package in another process.

    Returns `tools`, the facts about each, and `problems` of the registry. Facts are `name` and `milliseconds`, with
    `diagnosis`, or with `error`, `location` and the name of a `missing` module, or with `unusable`, the reason why the
    tool cannot work on this machine.
    """
    timeout = _timeout()
    request = {"path": sys.path, "search": search_path(), "distribution": distribution, "names": list(names)}
    try:
        child = subprocess.run(
            [sys.executable, "-c", _CHILD],
            input=json.dumps(request),
            stdout=subprocess.PIPE,
            encoding="utf-8",
            timeout=timeout,
            check=False,
        )
    except OSError as failure:
        raise CommandError(f"{sys.executable} cannot be started: {failure.strerror}", status=1) from failure
    except subprocess.TimeoutExpired:
        error = f"timed out after {timeout:g} s while it was loaded (ASK_TOOLS_LOAD_TIMEOUT)"
    else:
        if child.stdout:
            report: Facts = json.loads(child.stdout)
            return report
        status = child.returncode
        ending = f"exit code {status}" if status >= 0 else f"signal {-status}"
        error = f"ended the process with {ending} while it was loaded"
    failure_facts = {"milliseconds": 0.0, "error": error, "location": "", "missing": None}
    return {"tools": [{"name": name, **failure_facts} for name in request["names"]], "problems": []}


def as_dict(problem: LoadProblem) -> Facts:
    """Return the fields of a problem."""
    return {field: getattr(problem, field) for field in ("name", "distribution", "version", "error", "fix")}


def _timeout() -> float:
    text = os.environ.get("ASK_TOOLS_LOAD_TIMEOUT") or str(_DEFAULT_TIMEOUT)
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise CommandError(f"ASK_TOOLS_LOAD_TIMEOUT must be a number of seconds above 0, got {text!r}")
    return seconds


def serve(request: Facts) -> None:
    """Load the requested tools, and write the report to the original standard output."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends without a traceback
    with open(os.dup(1), "w", encoding="utf-8") as output:
        os.dup2(2, 1)  # packages may print
        registry = discovered(request["search"])
        tools = [_load(name, registry) for name in request["names"]]
        problems = [
            as_dict(problem) for problem in registry.problems if problem.distribution == request["distribution"]
        ]
        json.dump({"tools": tools, "problems": problems}, output)
        output.flush()
        os._exit(0)  # does not wait for threads that the package has started


def _load(name: str, registry: Registry) -> Facts:
    started = perf_counter()
    try:
        facts = _diagnosis(registry[name])
    except Exception as error:  # noqa: BLE001  (the package may raise anything, which is reported)
        point = registry.origin(name)
        facts = _failure(error, point.module.partition(".")[0] if point else "")
    return {"name": name, "milliseconds": 1000 * (perf_counter() - started), **facts}


def _failure(error: Exception, package: str) -> Facts:
    cause = error.__cause__ if isinstance(error, ToolError) else error
    if cause is None:  # the registry refuses the tool, and lists it among its problems
        return {"error": str(error)}
    text = f"called sys.exit({cause})" if isinstance(cause, SystemExit) else f"{type(cause).__name__}: {cause}"
    missing = cause.name if isinstance(cause, ModuleNotFoundError) else None
    return {"error": text, "location": location(cause, package), "missing": missing}


def _diagnosis(tool: Tool) -> Facts:
    """Return what a tool reports about this machine, or why it cannot work here."""
    try:
        return {"diagnosis": clean(dict(tool.diagnose()))}
    except Exception as error:  # noqa: BLE001  (as above)
        return {"unusable": error.message if isinstance(error, ToolError) else f"{type(error).__name__}: {error}"}
