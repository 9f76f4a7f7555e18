"""`ask-tools doctor`: load everything that is installed, and report problems with their fixes."""

from __future__ import annotations

import os
import platform
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Any

from tools_core._cli._loader import Facts, as_dict, examine
from tools_core._cli._output import counted, json_text, one_line, write, write_json
from tools_core._cli._tools import discovered
from tools_core._version import __version__

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
    packages: dict[str, list[str]] = {}
    for name in registry:
        if (point := registry.origin(name)) is not None:
            packages.setdefault(point.distribution, []).append(name)
    reports = [examine(registry, names) for names in packages.values()]
    problems = [as_dict(problem) for problem in registry.problems if problem.distribution not in packages]
    problems += [problem for report in reports for problem in report.pop("problems")]
    report = {
        "tools_core": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "system": platform.platform(),
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


def _lines(report: Facts) -> Iterator[str]:
    yield f"tools-core {report['tools_core']}, Python {report['python']} ({report['executable']}), {report['system']}"
    if report["lock"]:
        yield f"tools that {report['lock']} does not name are blocked (ASK_TOOLS_LOCK)"
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
        return ", ".join(f"{key} {_text(part)}" for key, part in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(_text, value)) or "none"
    if value is None:
        return "none"
    return value if isinstance(value, str) else json_text(value, pretty=False)
