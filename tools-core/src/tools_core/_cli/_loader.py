"""Loads packages in a process of their own, for `list` and `doctor`.

A package may hang, crash or end the process when it is imported; then only this process ends. It writes a line of JSON
before and after each tool, so that the command knows which tool it was, and starts another process for the others.
"""

from __future__ import annotations

import faulthandler
import json
import os
import re
import signal
import subprocess
import sys
from importlib import import_module
from time import perf_counter
from traceback import walk_tb
from typing import TYPE_CHECKING, Any

from tools_core._cli._installed import discovered, stamp
from tools_core._cli._terminal import CommandError, location
from tools_core._registry._entry_points import search_path
from tools_core._values._errors import ToolError
from tools_core._values._jsonable import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tools_core._registry._registry import Registry
    from tools_core._tools._tool import Tool

    Facts = dict[str, Any]

_LIMIT = 10.0  # seconds
# The path comes first: it may be the only one that leads to tools_core.
_CHILD = (
    "import json, sys; order = json.load(sys.stdin); sys.path[:] = order['path']; "
    "from tools_core._cli._loader import serve; serve(order)"
)


def load_apart(names: Iterable[str], *, diagnose: bool = False) -> tuple[list[Facts], list[Facts]]:
    """Load tools in another process; return facts about each, and the registry's problems after that.

    Facts are `name`, `milliseconds`, the imported `files` with their stamps, and `description`; or `error`, `location`
    and the name of a `missing` module, and `is_known` if the registry's problems have it too. With `diagnose` there is
    a `diagnosis`, and if the tool cannot work, `unusable`.
    """
    found: dict[str, Facts] = {}
    problems: dict[str, Facts] = {}
    waiting = list(names)
    while waiting:
        order = {"path": sys.path, "search": search_path(), "names": waiting, "diagnose": diagnose, "limit": _limit()}
        done = _run_child(order, stderr=None if diagnose else subprocess.DEVNULL)
        current, last_words = "", ""
        for line in done.stdout.splitlines():
            record = json.loads(line) if line.startswith("{") else None
            if record is None:
                last_words += f"{line}\n"
            elif "begin" in record:
                current = record["begin"]
            elif "name" in record:
                found[record["name"]] = record
            else:
                problems |= {str(problem): problem for problem in record["problems"]}
        if (done.returncode and current in found) or not current:
            raise CommandError("the process that loads the tools has failed", status=1)
        if done.returncode:
            found[current] = {"name": current, "milliseconds": 0.0, **_death(done.returncode, last_words)}
        waiting = [name for name in waiting if name not in found]
    return list(found.values()), list(problems.values())


def _run_child(order: Facts, stderr: int | None) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            [sys.executable, "-c", _CHILD],
            input=json.dumps(order),
            stdout=subprocess.PIPE,
            stderr=stderr,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except OSError as failure:
        raise CommandError(f"{sys.executable} cannot be started: {failure.strerror}", status=1) from failure


def _limit() -> float:
    text = os.environ.get("ASK_TOOLS_LOAD_TIMEOUT") or str(_LIMIT)
    try:
        limit = float(text)
    except ValueError:
        limit = 0.0
    if not 0 < limit < 1e6:
        raise CommandError(f"ASK_TOOLS_LOAD_TIMEOUT must be a number of seconds above 0, got {text!r}")
    return limit


def _death(status: int, dump: str) -> Facts:
    """Describe how a process ended, from its exit code and the stack that faulthandler wrote."""
    library = os.path.dirname(os.__file__)
    places = [f"{file}:{line}" for file, line in re.findall(r'File "(.+)", line (\d+)', dump)]
    own = [place for place in places if not place.startswith((library, "<")) or "site-packages" in place]
    if dump.startswith("Timeout"):
        error = f"timed out after {_limit():g} s while it was loaded (ASK_TOOLS_LOAD_TIMEOUT)"
    elif status < 0:
        error = f"ended the process with signal {-status} while it was loaded"
    else:
        error = f"ended the process with exit code {status} while it was loaded"
    return {"error": error, "location": own[0] if own else ""}


def serve(order: Facts) -> None:
    """Load the tools of an order, and write a record of each to what was standard output at the start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends without a traceback
    with open(os.dup(1), "w", encoding="utf-8", buffering=1) as output:
        os.dup2(2, 1)  # packages may print
        faulthandler.enable(output)
        for module in ("_as_tools", "_toolset"):  # so that the first package is not charged for them
            import_module(f"tools_core._tools.{module}")
        registry = discovered(order["search"])
        for name in order["names"]:
            output.write(json.dumps({"begin": name}) + "\n")
            faulthandler.dump_traceback_later(order["limit"], exit=True, file=output)
            record = _load(registry, name, diagnose=order["diagnose"])
            faulthandler.cancel_dump_traceback_later()
            output.write(json.dumps(record) + "\n")
        fields = ("name", "distribution", "version", "error", "fix")
        problems = [{field: getattr(problem, field) for field in fields} for problem in registry.problems]
        output.write(json.dumps({"problems": problems}) + "\n")
        output.flush()
        os._exit(0)  # whatever threads the packages have started


def _load(registry: Registry, name: str, *, diagnose: bool) -> Facts:
    point = registry.origin(name)
    package = point.module.partition(".")[0] if point else ""
    started = perf_counter()
    found: Facts
    try:
        tool = registry[name]
        found = {"description": tool.definition["description"].strip().partition("\n")[0], "files": []}
        if diagnose:
            found |= _diagnosis(tool)
    except Exception as error:  # noqa: BLE001  (code of the package, whose failure is what we report)
        found = _failure(error, package)
    if found["files"] is not None:
        found["files"] = {path: stamp(path) for path in {*_files(package), *found["files"]}}
    return {"name": name, "milliseconds": 1000 * (perf_counter() - started), **found}


def _failure(error: Exception, package: str) -> Facts:
    """Describe an error: that of the package, or of the registry if there is no cause, as for a changed definition."""
    cause = error.__cause__ if isinstance(error, ToolError) else error
    if cause is None:
        return {"error": str(error), "location": "", "missing": None, "files": None, "is_known": True}
    text = f"called sys.exit({cause})" if isinstance(cause, SystemExit) else f"{type(cause).__name__}: {cause}"
    files = [frame.f_code.co_filename for frame, _ in walk_tb(cause.__traceback__)]
    files += [cause.filename or ""] if isinstance(cause, SyntaxError) else []
    missing = cause.name if isinstance(cause, ModuleNotFoundError) else None
    return {"error": text, "location": location(cause, package), "missing": missing, "files": files}


def _diagnosis(tool: Tool) -> Facts:
    """Return what a tool reports about this machine, or the error by which it says that it cannot work here."""
    try:
        return {"diagnosis": clean(dict(tool.diagnose()))}
    except ToolError as error:
        return {"diagnosis": {}, "unusable": error.message}
    except Exception as error:  # noqa: BLE001  (as above)
        return {"diagnosis": {}, "unusable": f"{type(error).__name__}: {error}"}


def _files(package: str) -> Iterator[str]:
    """Yield the source files of a top-level package that were imported."""
    for name, module in list(sys.modules.items()):
        if name == package or name.startswith(f"{package}."):
            path = getattr(module, "__file__", None)
            if path:
                yield path
