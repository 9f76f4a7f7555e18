"""Load the tools of a package in a separate process, for `doctor`.

A package may hang, crash or end the process when it is imported; then only the separate process ends.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from time import perf_counter
from typing import Any

from tools_core._cli._commands import pip, reinstall
from tools_core._cli._output import CommandError, location
from tools_core._cli._tools import discovered
from tools_core._registry._entry import LoadProblem
from tools_core._registry._entry_points import EntryPoint, search_path
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


def examine(registry: Registry, names: list[str]) -> Facts:
    """Load the tools of one package in another process, and return a report on the package and its problems."""
    timeout = _timeout()
    request = {"path": sys.path, "search": search_path(), "names": names}
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
    points = _origins(registry, names)
    problems = [_problem(point, error, point.fix or reinstall(point.distribution)) for point in points]
    return _report(points[0], names, problems)


def as_dict(problem: LoadProblem) -> Facts:
    """Return the fields of a problem."""
    fields = {field: getattr(problem, field) for field in ("name", "distribution", "version", "error", "fix")}
    return {**fields, "location": ""}


def serve(request: Facts) -> None:
    """Load the requested tools, and write the report to the original standard output."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends without a traceback
    with open(os.dup(1), "w", encoding="utf-8") as output:
        os.dup2(2, 1)  # packages may print
        json.dump(_load(discovered(request["search"]), request["names"]), output)
        output.flush()
        os._exit(0)  # does not wait for threads that the package has started


def _load(registry: Registry, names: list[str]) -> Facts:
    started = perf_counter()
    problems: list[Facts] = []
    tools: dict[str, Tool] = {}
    points = _origins(registry, names)
    for name, point in zip(names, points, strict=True):
        try:
            tools[name] = registry[name]
        except Exception as error:  # noqa: BLE001  (the package may raise anything, which is reported)
            cause = error.__cause__ if isinstance(error, ToolError) else error
            if cause is not None:  # without a cause it is among the problems of the registry
                problems.append(_load_failure(point, cause))
    milliseconds = 1000 * (perf_counter() - started)
    facts: Facts = {}
    for name, tool in tools.items():
        try:
            diagnosis = clean(dict(tool.diagnose()))
        except Exception as error:  # noqa: BLE001  (as above)
            message = error.message if isinstance(error, ToolError) else f"{type(error).__name__}: {error}"
            problems.append(_problem(points[names.index(name)], message, "see above"))
            continue
        for key, value in diagnosis.items():
            if facts.setdefault(key, value) != value:  # facts that all tools share are shown once
                facts[f"{name} {key}"] = value
    failed = {problem["name"] for problem in problems}
    problems += [
        as_dict(problem)
        for problem in registry.problems
        if problem.distribution == points[0].distribution and problem.name not in failed
    ]
    return {**_report(points[0], names, problems), "milliseconds": round(milliseconds, 1), "facts": facts}


def _origins(registry: Registry, names: list[str]) -> list[EntryPoint]:
    return [point for name in names if (point := registry.origin(name)) is not None]


def _report(point: EntryPoint, names: list[str], problems: list[Facts]) -> Facts:
    package = {"distribution": point.distribution, "version": point.version}
    return {**package, "milliseconds": 0.0, "tools": names, "facts": {}, "problems": problems}


def _load_failure(point: EntryPoint, cause: BaseException) -> Facts:
    """Return the problem of a tool whose package cannot be imported."""
    package = point.module.partition(".")[0]
    error = f"called sys.exit({cause})" if isinstance(cause, SystemExit) else f"{type(cause).__name__}: {cause}"
    name = cause.name if isinstance(cause, ModuleNotFoundError) else None
    missing = (name or "").partition(".")[0]
    fix = point.fix or reinstall(point.distribution)
    if missing and missing != package:
        fix = f"{pip('install', missing)}, if that is the name of its package"
    return _problem(point, error, fix, location(cause, package))


def _problem(point: EntryPoint, error: str, fix: str, place: str = "") -> Facts:
    origin = {"name": point.name, "distribution": point.distribution, "version": point.version}
    return {**origin, "error": error, "location": place, "fix": fix}


def _timeout() -> float:
    text = os.environ.get("ASK_TOOLS_LOAD_TIMEOUT") or str(_DEFAULT_TIMEOUT)
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise CommandError(f"ASK_TOOLS_LOAD_TIMEOUT must be a number of seconds above 0, got {text!r}")
    return seconds
