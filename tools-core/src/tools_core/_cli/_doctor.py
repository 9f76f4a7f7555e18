"""`ask-tools doctor`: load everything that is installed, and say what is wrong with it and how to mend it."""

from __future__ import annotations

import os
import platform
import sys
from typing import TYPE_CHECKING, Any

from tools_core._cli._diagnosis import packages
from tools_core._cli._installed import discovered, prints_aside
from tools_core._cli._subcommands import BUILT_IN, GROUP
from tools_core._cli._terminal import CommandError, counted, json_text, one_line, write, write_json
from tools_core._registry._admission import Admission
from tools_core._registry._entry_points import scan
from tools_core._registry._lock_file import read
from tools_core._version import __version__

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from tools_core._registry._entry_points import EntryPoint
    from tools_core._registry._registry import Registry

HOOKS_GROUP = "ask_tools.doctor"  # its entry reports the hooks around calls
_Facts = dict[str, Any]

_EPILOG = """\
For each package: its tools, how long it takes to be imported (whoever comes first also pays for what several need), and
what its tools say of this machine, such as the isolation they get or the programs they use. A tool says so by a method
`diagnose(self) -> Mapping[str, object]`, which may raise ToolError for what keeps it from working.
Exit codes: 0 no problem, 1 a problem.

examples:
  ask-tools doctor
  ask-tools doctor --json
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `doctor`."""
    parser.epilog = _EPILOG
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--hooks", action="store_true", help="show the hooks around calls, the outermost first")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print the report; 1 if there are problems."""
    if options.hooks:
        return _hooks(options)
    registry = discovered()
    commands = scan(GROUP)
    barred = _barred(commands)
    with prints_aside():
        distributions, complaints = packages(registry)
        problems = [*_tool_problems(registry), *complaints, *_command_problems(commands, barred)]
    report = {
        "tools_core": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "system": platform.platform(),
        "lock": os.environ.get("ASK_TOOLS_LOCK"),
        "distributions": distributions,
        "blocked": [*registry.blocked, *(f"{entry.distribution}: command {entry.name}" for entry in barred)],
        "problems": problems,
    }
    if options.json:
        write_json(report)
    else:
        _write(report)
    return 1 if problems else 0


def _hooks(options: Namespace) -> int:
    """Print the hooks that run around calls, as tools-runtime reports them."""
    found = scan(HOOKS_GROUP)
    if not found:
        raise CommandError("hooks are part of tools-runtime", "pip install tools-runtime", status=1)
    report: dict[str, Any] = found[0].load()()
    if options.json:
        write_json(report)
    else:
        for each in report["hooks"]:
            write(f"{each['hook']:18} {each['plugin']}")
        for each in report["problems"]:
            write(f"! {each['plugin']}: {each['error']}")
        if not report["hooks"]:
            write("no plugin with hooks is installed")
    return 1 if report["problems"] else 0


def _tool_problems(registry: Registry) -> Iterator[_Facts]:
    for problem in registry.problems:
        yield {key: getattr(problem, key) for key in ("name", "distribution", "version", "error", "fix")}


def _barred(entries: list[EntryPoint]) -> list[EntryPoint]:
    """The sub-commands of packages that are not let in, and so not to be imported unasked."""
    path = os.environ.get("ASK_TOOLS_LOCK")
    locked = None if path is None else read(path).distributions
    lists = Admission()

    def is_barred(entry: EntryPoint) -> bool:
        return (locked is not None and entry.distribution not in locked) or lists.refuses(entry)

    return list(filter(is_barred, entries))


def _command_problems(entries: list[EntryPoint], barred: list[EntryPoint]) -> Iterator[_Facts]:
    """Sub-commands of other packages that are shadowed, or do not load."""
    for entry in entries:
        if entry in barred:
            continue
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
    lines = [
        f"tools-core {report['tools_core']}, Python {report['python']} ({report['executable']}), {report['system']}"
    ]
    if report["lock"]:
        lines.append(f"only what {report['lock']} names is let in (ASK_TOOLS_LOCK)")
    lines.append("")
    for each in report["distributions"]:
        lines.append(f"{each['distribution']} {each['version']}: {', '.join(each['tools'])}")
        lines.append(f"  loaded in {each['milliseconds']:.0f} ms")
        lines += [f"  {key.replace('_', ' ')}: {_shown(value)}" for key, value in each["facts"].items()]
    if not report["distributions"]:
        lines.append("no tools are installed; make your own: ask-tools new NAME")
    lines += [f"barred by ASK_TOOLS_ALLOW, ASK_TOOLS_DENY or ASK_TOOLS_LOCK: {name}" for name in report["blocked"]]
    for problem in report["problems"]:
        origin = f" ({problem['distribution']} {problem['version']})" if problem["distribution"] else ""
        lines += ["", f"! {problem['name']}{origin}", f"  {problem['error']}", f"  fix: {problem['fix']}"]
    count = len(report["problems"])
    lines += ["", "no problems" if not count else counted(count, "problem")]
    write("\n".join(map(one_line, lines)))


def _shown(value: Any) -> str:
    """A fact as a person reads it: `rg /usr/bin/rg, bwrap none`."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {_shown(each)}" for key, each in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(_shown, value)) or "none"
    if value is None:
        return "none"
    return value if isinstance(value, str) else json_text(value, pretty=False)
