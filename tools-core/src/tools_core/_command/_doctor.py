"""`ask-tools doctor`: load everything that is installed, and say what is wrong with it and how to mend it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tools_core._command._installed import discovered, prints_aside
from tools_core._command._subcommands import BUILT_IN, GROUP
from tools_core._command._terminal import one_line, write, write_json
from tools_core._entry_points import scan
from tools_core._version import __version__

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from tools_core._entry_points import EntryPoint
    from tools_core._registry import Registry

_Facts = dict[str, Any]


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `doctor`."""
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print the report; 1 if there are problems."""
    registry = discovered()
    with prints_aside():
        registry.all()
        problems = [*_tool_problems(registry), *_command_problems()]
    report = {
        "tools_core": __version__,
        "python": ".".join(map(str, sys.version_info[:3])),
        "executable": sys.executable,
        "distributions": list(_distributions(registry)),
        "blocked": registry.blocked,
        "problems": problems,
    }
    if options.json:
        write_json(report)
    else:
        _write(report)
    return 1 if problems else 0


def _distributions(registry: Registry) -> Iterator[_Facts]:
    """Each distribution with the tools that it turned out to have."""
    found: dict[str, _Facts] = {}
    for name in registry:
        point = registry.origin(name)
        if point is not None:
            facts: _Facts = {"distribution": point.distribution, "version": point.version, "tools": []}
            found.setdefault(point.distribution, facts)["tools"].append(name)
    yield from found.values()


def _tool_problems(registry: Registry) -> Iterator[_Facts]:
    for problem in registry.problems:
        yield {key: getattr(problem, key) for key in ("name", "distribution", "version", "error", "fix")}


def _command_problems() -> Iterator[_Facts]:
    """Sub-commands of other packages that are shadowed, or do not load."""
    entries = scan(GROUP)
    for entry in entries:
        others = [other for other in entries if other.name == entry.name and other is not entry]
        if entry.name in BUILT_IN:
            yield _command_problem(
                entry, "ask-tools has a command of that name, which runs", "report it to the authors of {}"
            )
        elif others:
            yield _command_problem(entry, f"{others[0]} has that command too", f"use ask-tools {entry.qualified}")
        try:
            entry.load()
        except (Exception, SystemExit) as broken:  # noqa: BLE001 - another package's code: its failure is reported
            yield _command_problem(
                entry, f"{type(broken).__name__}: {broken}", "pip install -U {0} or pip uninstall {0}"
            )


def _command_problem(entry: EntryPoint, error: str, fix: str) -> _Facts:
    return {
        "name": f"command {entry.name}",
        "distribution": entry.distribution,
        "version": entry.version,
        "error": error,
        "fix": fix.format(entry.distribution),
    }


def _write(report: _Facts) -> None:
    lines = [f"tools-core {report['tools_core']}, Python {report['python']} ({report['executable']})", ""]
    lines += [
        f"{each['distribution']} {each['version']}: {', '.join(each['tools'])}" for each in report["distributions"]
    ]
    if not report["distributions"]:
        lines.append("no tools are installed; make your own: ask-tools new NAME")
    lines += [f"barred by ASK_TOOLS_ALLOW or ASK_TOOLS_DENY: {name}" for name in report["blocked"]]
    for problem in report["problems"]:
        origin = f" ({problem['distribution']} {problem['version']})" if problem["distribution"] else ""
        lines += ["", f"! {problem['name']}{origin}", f"  {problem['error']}", f"  fix: {problem['fix']}"]
    count = len(report["problems"])
    lines += ["", "no problems" if not count else f"{count} problem{'s' * (count > 1)}"]
    write("\n".join(map(one_line, lines)))
