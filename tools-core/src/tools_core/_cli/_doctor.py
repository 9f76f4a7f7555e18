"""`ask-tools doctor`: load everything that is installed, and report problems with their fixes."""

from __future__ import annotations

import os
import platform
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Any

from tools_core._cli._commands import pip, reinstall
from tools_core._cli._loader import as_dict, load_in_child
from tools_core._cli._output import counted, json_text, one_line, write, write_json
from tools_core._cli._tools import discovered
from tools_core._registry._entry_points import EntryPoint
from tools_core._registry._registry import Registry
from tools_core._version import __version__

Facts = dict[str, Any]

_EPILOG = """\
For each package: its tools, the time of its import, and facts about this machine, such as isolation or programs. A tool
reports them by a method `diagnose(self) -> Mapping[str, object]`, with `warnings` as a list of sentences; it raises
ToolError if the tool cannot work here. Packages are imported in another process, which may hang or crash.
Exit codes: 0 no problem, 1 a problem.

examples:
  ask-tools doctor
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
    installed = _packages(registry)
    distributions: list[Facts] = []
    problems = [as_dict(problem) for problem in registry.problems if problem.distribution not in installed]
    for distribution, points in installed.items():
        loaded = load_in_child(distribution, points)
        distributions.append(_distribution(distribution, points, loaded["tools"]))
        failures = [_failure(points[tool["name"]], tool) for tool in loaded["tools"] if _has_failed(tool)]
        names = {failure["name"] for failure in failures}
        problems += [*failures, *(problem for problem in loaded["problems"] if problem["name"] not in names)]
    report = {
        "tools_core": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "system": platform.platform(),
        "lock": os.environ.get("ASK_TOOLS_LOCK"),
        "distributions": distributions,
        "blocked": registry.blocked,
        "problems": problems,
    }
    if options.json:
        write_json(report)
    else:
        write("\n".join(map(one_line, _lines(report))))
    return 1 if problems else 0


def _packages(registry: Registry) -> dict[str, dict[str, EntryPoint]]:
    """Return the entry points of each distribution, by the names of its tools."""
    packages: dict[str, dict[str, EntryPoint]] = {}
    for name in registry:
        if (point := registry.origin(name)) is not None:
            packages.setdefault(point.distribution, {})[name] = point
    return packages


def _distribution(name: str, points: dict[str, EntryPoint], tools: list[Facts]) -> Facts:
    """Return a distribution with its tools, the time of its import, and the facts that its tools report."""
    facts: Facts = {}
    for tool in tools:
        for key, value in tool.get("diagnosis", {}).items():
            if facts.setdefault(key, value) != value:  # facts that all tools share are shown once
                facts[f"{tool['name']} {key}"] = value
    return {
        "distribution": name,
        "version": next(iter(points.values())).version,
        "milliseconds": round(sum(tool["milliseconds"] for tool in tools), 1),
        "tools": [tool["name"] for tool in tools],
        "facts": facts,
    }


def _has_failed(tool: Facts) -> bool:
    """Return whether a tool's own code has failed; what the registry refuses is among its problems."""
    return "location" in tool or "unusable" in tool


def _failure(point: EntryPoint, facts: Facts) -> Facts:
    missing = (facts.get("missing") or "").partition(".")[0]
    error, place = facts.get("error") or facts["unusable"], facts.get("location", "")
    if "unusable" in facts:
        fix = "see above"
    elif missing and missing != point.module.partition(".")[0]:
        fix = f"{pip('install', missing)}, if that is the name of its package"
    else:
        fix = point.fix or reinstall(point.distribution)
    origin = {"name": point.name, "distribution": point.distribution, "version": point.version}
    return {**origin, "error": error, "location": place, "fix": fix}


def _lines(report: Facts) -> Iterator[str]:
    yield f"tools-core {report['tools_core']}, Python {report['python']} ({report['executable']}), {report['system']}"
    if report["lock"]:
        yield f"tools that {report['lock']} does not name are blocked (ASK_TOOLS_LOCK)"
    yield ""
    for package in report["distributions"]:
        yield f"{package['distribution']} {package['version']}: {', '.join(package['tools'])}"
        yield f"  loaded in {package['milliseconds']:.0f} ms"
        facts = {key: value for key, value in package["facts"].items() if key != "warnings"}
        yield from (f"  {key.replace('_', ' ')}: {_text(value)}" for key, value in facts.items())
        yield from (f"  ! {warning}" for warning in package["facts"].get("warnings", ()))
    if not report["distributions"]:
        yield "no tools are installed; create one: ask-tools new NAME"
    yield from (f"blocked by ASK_TOOLS_ALLOW, ASK_TOOLS_DENY or ASK_TOOLS_LOCK: {name}" for name in report["blocked"])
    for problem in report["problems"]:
        source = f" ({problem['distribution']} {problem['version']})" if problem["distribution"] else ""
        yield from ("", f"! {problem['name']}{source}", f"  {problem['error']}")
        if problem.get("location"):
            yield f"  at {problem['location']}"
        yield f"  fix: {problem['fix']}"
    yield ""
    warnings = sum(len(package["facts"].get("warnings", ())) for package in report["distributions"])
    problems = counted(len(report["problems"]), "problem") if report["problems"] else "no problems"
    yield f"{problems}, {counted(warnings, 'warning')}" if warnings else problems


def _text(value: Any) -> str:
    """Return a fact as text: `rg /usr/bin/rg, bwrap none`."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(part)}" for key, part in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(_text, value)) or "none"
    if value is None:
        return "none"
    return value if isinstance(value, str) else json_text(value, pretty=False)
