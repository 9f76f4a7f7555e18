"""Loads the tools of a package in a process of their own, for `list` and `doctor`.

A package may hang, crash or end the process when it is imported; then only this process ends.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from importlib import import_module
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tools_core._cli._installed import discovered, stamp
from tools_core._cli._terminal import CommandError, location
from tools_core._registry._entry_points import search_path
from tools_core._values._errors import ToolError
from tools_core._values._jsonable import clean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tools_core._registry._load_problem import LoadProblem
    from tools_core._registry._registry import Registry
    from tools_core._tools._tool import Tool

    Facts = dict[str, Any]

_LIMIT = 10.0  # seconds
# The path comes first: it may be the only one that leads to tools_core.
_CHILD = (
    "import json, sys; order = json.load(sys.stdin); sys.path[:] = order['path']; "
    "from tools_core._cli._loader import serve; serve(order)"
)


def load_apart(distribution: str, names: Iterable[str], *, diagnose: bool = False) -> Facts:
    """Load the tools of one package in another process.

    Returns `tools`, the facts about each; `files`, the imported source files with their stamps; and `problems` of the
    registry. Facts are `name`, `milliseconds` and `description`, or `error`, `location` and the name of a
    `missing` module. With `diagnose` there is a `diagnosis`, and if the tool cannot work, `unusable`.
    """
    order: Facts = {"path": sys.path, "search": search_path(), "distribution": distribution}
    order |= {"names": list(names), "diagnose": diagnose}
    limit = _limit()
    try:
        done = subprocess.run(
            [sys.executable, "-c", _CHILD],
            input=json.dumps(order),
            stdout=subprocess.PIPE,
            stderr=None if diagnose else subprocess.DEVNULL,
            encoding="utf-8",
            timeout=limit,
            check=False,
        )
    except OSError as failure:
        raise CommandError(f"{sys.executable} cannot be started: {failure.strerror}", status=1) from failure
    except subprocess.TimeoutExpired:
        error = f"timed out after {limit:g} s while it was loaded (ASK_TOOLS_LOAD_TIMEOUT)"
    else:
        if done.stdout:
            report: Facts = json.loads(done.stdout)
            return report
        how = f"exit code {done.returncode}" if done.returncode >= 0 else f"signal {-done.returncode}"
        error = f"ended the process with {how} while it was loaded"
    failed = {"milliseconds": 0.0, "error": error, "location": "", "missing": None}
    return {"tools": [{"name": name, **failed} for name in order["names"]], "files": {}, "problems": []}


def as_dict(problem: LoadProblem) -> Facts:
    """Return the fields of a problem."""
    return {field: getattr(problem, field) for field in ("name", "distribution", "version", "error", "fix")}


def _limit() -> float:
    text = os.environ.get("ASK_TOOLS_LOAD_TIMEOUT") or str(_LIMIT)
    try:
        limit = float(text)
    except ValueError:
        limit = 0.0
    if not 0 < limit < 1e6:
        raise CommandError(f"ASK_TOOLS_LOAD_TIMEOUT must be a number of seconds above 0, got {text!r}")
    return limit


def serve(order: Facts) -> None:
    """Load the tools of an order, and write the report to what was standard output at the start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends without a traceback
    with open(os.dup(1), "w", encoding="utf-8") as output:
        os.dup2(2, 1)  # packages may print
        for module in ("_as_tools", "_toolset"):  # so that the package is not charged for them
            import_module(f"tools_core._tools.{module}")
        registry = discovered(order["search"])
        tools = [_load(registry, name, diagnose=order["diagnose"]) for name in order["names"]]
        files = {path: stamp(path) for path in _files({_package(registry, name) for name in order["names"]})}
        problems = [as_dict(problem) for problem in registry.problems if problem.distribution == order["distribution"]]
        json.dump({"tools": tools, "files": files, "problems": problems}, output)
        output.flush()
        os._exit(0)  # whatever threads the package has started


def _package(registry: Registry, name: str) -> str:
    point = registry.origin(name)
    return point.module.partition(".")[0] if point else ""


def _load(registry: Registry, name: str, *, diagnose: bool) -> Facts:
    started = perf_counter()
    found: Facts
    try:
        tool = registry[name]
        found = {"description": tool.definition["description"].strip().partition("\n")[0]}
        if diagnose:
            found |= _diagnosis(tool)
    except Exception as error:  # noqa: BLE001  (code of the package, whose failure is what we report)
        found = _failure(error, _package(registry, name))
    return {"name": name, "milliseconds": 1000 * (perf_counter() - started), **found}


def _failure(error: Exception, package: str) -> Facts:
    cause = error.__cause__ if isinstance(error, ToolError) else error
    if cause is None:  # the registry refuses the tool, and has it among its problems
        return {"error": str(error)}
    text = f"called sys.exit({cause})" if isinstance(cause, SystemExit) else f"{type(cause).__name__}: {cause}"
    missing = cause.name if isinstance(cause, ModuleNotFoundError) else None
    return {"error": text, "location": location(cause, package), "missing": missing}


def _diagnosis(tool: Tool) -> Facts:
    """Return what a tool reports about this machine, or the error by which it says that it cannot work here."""
    try:
        return {"diagnosis": clean(dict(tool.diagnose()))}
    except Exception as error:  # noqa: BLE001  (as above)
        return {"unusable": error.message if isinstance(error, ToolError) else f"{type(error).__name__}: {error}"}


def _files(packages: set[str]) -> list[str]:
    """Return the source files of top-level packages that were imported."""
    modules = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] in packages]
    return [path for module in modules if (path := getattr(module, "__file__", None))]
