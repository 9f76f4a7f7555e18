"""`ask-tools new`."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools_scaffold._errors import ScaffoldError
from tools_scaffold._new import new_package

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from tools_scaffold._plan import Plan


def configure(parser: argparse.ArgumentParser, installed: Callable[[], Mapping[str, str]] | None = None) -> None:
    """Give `parser` the options of `ask-tools new`, and `run` as what it does.

    `installed` tells the names of the installed tools, each with its distribution, when they are asked for;
    without it the entry points of this environment are read.
    """
    parser.description = "Make a tool package: a typed example tool, tests, configuration, CI."
    parser.add_argument("name", metavar="NAME", help="such as weather, tools-weather or WeatherTool")
    parser.add_argument(
        "--dir",
        metavar="DIR",
        help="where to make it (default: the repository's folder for packages, else here)",
    )
    parser.add_argument("--description", metavar="TEXT", help="what the package is for, in one line")
    parser.add_argument("--author", metavar="NAME", help="default: the user that git knows")
    parser.add_argument("--dry-run", action="store_true", help="show what would be made, and write nothing")
    parser.add_argument("--json", action="store_true", help="report as JSON")

    def run(arguments: argparse.Namespace) -> int:
        return _run(arguments, installed or _installed)

    parser.set_defaults(run=run)


def _run(arguments: argparse.Namespace, installed: Callable[[], Mapping[str, str]]) -> int:
    try:
        plan = new_package(
            arguments.name,
            into=arguments.dir,
            description=arguments.description,
            author=arguments.author,
            dry_run=arguments.dry_run,
            installed=installed(),
        )
    except ScaffoldError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    report = _report(plan, made=not arguments.dry_run)
    if arguments.json:
        import json  # the plain report needs none

        sys.stdout.write(json.dumps(report) + "\n")
    else:
        sys.stdout.write(_as_text(report))
    return 0


def _report(plan: Plan, *, made: bool) -> dict[str, Any]:
    return {
        "made": made,
        "folder": str(plan.folder),
        "tool": plan.tool,
        "distribution": plan.distribution,
        "package": plan.package,
        "files": list(plan.files),
        "next": [
            f"cd {_from_here(str(plan.folder))} && python -m pip install --editable . pytest",
            f"ask-tools call {plan.tool} city=Oslo",
            "python -m pytest",
        ],
    }


def _as_text(report: dict[str, Any]) -> str:
    files, commands = report["files"], report["next"]
    lines = [
        f"{'made' if report['made'] else 'would make'} {_from_here(report['folder'])} ({len(files)} files)",
        *(f"  {path}" for path in files),
        "next:",
        *(f"  {command}" for command in commands),
    ]
    return "\n".join(lines) + "\n"


def _from_here(folder: str) -> str:
    """Write `folder` as a shell takes it, relative to the current folder where it lies in it."""
    with suppress(OSError, ValueError):  # it lies elsewhere, or the current folder is gone
        folder = str(Path(folder).relative_to(Path.cwd()))
    return shlex.quote(folder) if folder.isprintable() else ascii(folder)


def _installed() -> dict[str, str]:
    from importlib.metadata import distributions  # 20 ms, and --help needs none of it

    found: dict[str, str] = {}
    for each in distributions():
        try:
            for entry in each.entry_points.select(group="ask_tools.tools"):
                found.setdefault(entry.name, f"{each.name} {each.version}")
        except (KeyError, OSError, TypeError, ValueError):  # broken metadata of one package hides no other
            continue
    return found
