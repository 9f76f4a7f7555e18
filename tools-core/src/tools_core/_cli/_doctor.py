"""`ask-tools doctor`: load everything that is installed, and report problems with their fixes."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from time import perf_counter
from typing import Any, TypeAlias

from tools_core._cli._output import counted, json_text, location, one_line, write, write_json
from tools_core._cli._tools import discovered
from tools_core._registry._entry import LoadProblem
from tools_core._registry._entry_points import EntryPoint, search_path
from tools_core._registry._registry import Registry
from tools_core._values._errors import ToolError
from tools_core._values._jsonable import clean
from tools_core._version import __version__
from tools_core.files import config_path, user_settings

Facts: TypeAlias = dict[str, Any]

_TIMEOUT = 20  # seconds for the import of a package
# The path is set first: tools_core may be on no other one.
_CHILD = (
    "import json, sys; request = json.load(sys.stdin); sys.path[:] = request['path']; "
    "from tools_core._cli._doctor import load_package; load_package(request['names'])"
)
_EPILOG = """\
For each package: its tools, the time of its import, and facts about this machine, such as isolation or programs. A tool
reports them by a method `diagnose(self) -> Mapping[str, object]`, with `warnings` as a list of sentences; it raises
ToolError if the tool cannot work here. Packages are imported in another process, which may hang or crash.
Exit codes: 0 no problem, 1 a problem.

examples:
  ask-tools doctor --json
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `doctor`."""
    parser.epilog = _EPILOG
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print the report; 1 if there are problems."""
    registry = discovered()
    packages: dict[str, dict[str, EntryPoint]] = {}
    for name in registry:
        if (point := registry.origin(name)) is not None:
            packages.setdefault(point.distribution, {})[name] = point
    reports: list[Facts] = []
    for package, points in packages.items():
        version = next(iter(points.values())).version
        row = {"distribution": package, "version": version, "tools": [*points]}
        reports.append({**row, **_examine(registry, points)})
    problems = [_as_dict(problem, registry) for problem in registry.problems if problem.distribution not in packages]
    problems += [problem for report in reports for problem in report.pop("problems")]
    settings = _settings()
    if "error" in settings:
        problems.append(_as_dict(LoadProblem("settings.toml", "", "", settings["error"], "correct the file"), registry))
    report = {
        "tools_core": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "system": platform.platform(),
        "settings": settings,
        "lock": os.environ.get("ASK_TOOLS_LOCK"),
        "distributions": reports,
        "blocked": registry.blocked,
        "problems": problems,
    }
    if options.json:
        write_json(report)
    else:
        write("\n".join(map(one_line, _lines(report))))
    return 1 if problems else 0


def _settings() -> Facts:
    """Return the place of the user's settings, and the defaults of agents among them."""
    place = config_path("settings.toml")
    try:
        return {"path": place, "exists": os.path.exists(place), "agent": clean(user_settings("agent"))}
    except ValueError as error:
        return {"path": place, "exists": True, "error": str(error)}


def load_package(names: list[str]) -> None:
    """Load the tools of a package in a separate process, and write a report on them to its standard output."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends without a traceback
    with open(os.dup(1), "w", encoding="utf-8") as output:
        os.dup2(2, 1)  # packages may print
        json.dump(_load(discovered(), names), output)
        output.flush()
        os._exit(0)  # does not wait for threads that the package has started


def _examine(registry: Registry, points: dict[str, EntryPoint]) -> Facts:
    """Report on the tools of one package; if it hangs or crashes when it is imported, only another process ends."""
    request = json.dumps({"path": search_path(), "names": [*points]})
    command = [sys.executable, "-P", "-c", _CHILD]  # -P: without modules of the current folder
    try:
        child = subprocess.run(
            command, input=request, stdout=subprocess.PIPE, encoding="utf-8", timeout=_TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        error = f"timed out after {_TIMEOUT} s while it was loaded"
    else:
        if child.stdout:
            report: Facts = json.loads(child.stdout)
            return report
        status = child.returncode
        ending = f"exit code {status}" if status >= 0 else f"signal {-status}"
        error = f"ended the process with {ending} while it was loaded"
    problems = [
        LoadProblem.of(point, error, point.fix or f"upgrade or uninstall {point.distribution}")
        for point in points.values()
    ]
    return {"milliseconds": 0.0, "facts": {}, "problems": [_as_dict(problem, registry) for problem in problems]}


def _load(registry: Registry, names: list[str]) -> Facts:
    started = perf_counter()
    tools = {name: tool for name in names if (tool := registry.get(name)) is not None}
    milliseconds = 1000 * (perf_counter() - started)
    points = {name: point for name in names if (point := registry.origin(name)) is not None}
    packages = {point.distribution for point in points.values()}
    facts: Facts = {}
    problems: list[LoadProblem] = []
    for name, tool in tools.items():
        try:
            diagnosis = clean(dict(tool.diagnose()))
        except Exception as error:  # noqa: BLE001  (the tool may raise anything, which is reported)
            message = error.message if isinstance(error, ToolError) else f"{type(error).__name__}: {error}"
            problems.append(LoadProblem.of(points[name], message, "see above"))
            continue
        for key, value in diagnosis.items():
            if facts.setdefault(key, value) != value:  # facts that all tools share are shown once
                facts[f"{name} {key}"] = value
    problems += [problem for problem in registry.problems if problem.distribution in packages]
    rows = [_as_dict(problem, registry) for problem in problems]
    return {"milliseconds": round(milliseconds, 1), "facts": facts, "problems": rows}


def _as_dict(problem: LoadProblem, registry: Registry) -> Facts:
    point = registry.origin(f"{problem.distribution}:{problem.name}")
    place = location(problem.cause, point.module.partition(".")[0]) if point else ""
    fields = {field: getattr(problem, field) for field in ("name", "distribution", "version", "error", "fix")}
    return {**fields, "location": place}


def _lines(report: Facts) -> Iterator[str]:
    yield f"tools-core {report['tools_core']}, Python {report['python']} ({report['executable']}), {report['system']}"
    if report["lock"]:
        yield f"tools that {report['lock']} does not name are blocked (ASK_TOOLS_LOCK)"
    settings = report["settings"]
    state = "" if settings["exists"] else " (does not exist)"
    yield f"settings: {settings.get('error') or settings['path'] + state}"
    if agent := settings.get("agent"):
        yield f"  agent: {_text(agent)}"
    yield ""
    warnings = 0
    for package in report["distributions"]:
        facts = dict(package["facts"])
        sentences = facts.pop("warnings", [])
        warnings += len(sentences)
        yield f"{package['distribution']} {package['version']}: {', '.join(package['tools'])}"
        yield f"  loaded in {package['milliseconds']:.0f} ms"
        yield from (f"  {key.replace('_', ' ')}: {_text(value)}" for key, value in facts.items())
        yield from (f"  ! {sentence}" for sentence in sentences)
    if not report["distributions"]:
        yield "no tools are installed; create one: ask-tools new NAME"
    yield from (f"blocked by ASK_TOOLS_ALLOW, ASK_TOOLS_DENY or ASK_TOOLS_LOCK: {name}" for name in report["blocked"])
    for problem in report["problems"]:
        source = f" ({problem['distribution']} {problem['version']})" if problem["distribution"] else ""
        yield from ("", f"! {problem['name']}{source}", f"  {problem['error']}")
        if problem["location"]:
            yield f"  at {problem['location']}"
        yield f"  fix: {problem['fix']}"
    yield ""
    problems = counted(len(report["problems"]), "problem") if report["problems"] else "no problems"
    yield f"{problems}, {counted(warnings, 'warning')}" if warnings else problems


def _text(value: Any) -> str:
    """Return a fact as text: `rg /usr/bin/rg, bwrap none`."""
    if isinstance(value, dict):
        value = [f"{key} {_text(part)}" for key, part in value.items()]
    if isinstance(value, list):
        return ", ".join(map(_text, value)) or "none"
    return value if isinstance(value, str) else "none" if value is None else json_text(value, pretty=False)
