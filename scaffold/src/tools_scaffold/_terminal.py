"""The options and the output that `ask-tools new` and `ask-tools add` have in common."""

from __future__ import annotations

import json
import shlex
import sys
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING

from tools_scaffold._errors import ScaffoldError
from tools_scaffold._tool import PARAMS, STYLES, ToolOptions

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from tools_scaffold._plan import Plan


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that both commands take."""
    parser.add_argument("name", metavar="NAME", help="name of the tool, such as weather")
    parser.add_argument("--style", choices=STYLES, default="function", help="kind of tool (default: function)")
    parser.add_argument("--params", metavar="PARAMS", help=f"parameters of the tool (default: {PARAMS})")
    parser.add_argument("--description", metavar="TEXT", help="purpose of the tool, in one line")
    parser.add_argument("--dry-run", action="store_true", help="list the files without writing them")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def tool_options(arguments: argparse.Namespace) -> ToolOptions:
    """Return the parsed options that describe the tool."""
    return {"style": arguments.style, "params": arguments.params, "description": arguments.description}


def run(arguments: argparse.Namespace, make_plan: Callable[[], Plan], *, first_step: str) -> int:
    """Write a plan and print what was written; return the exit code."""
    try:
        plan = make_plan()
        _refuse_installed(plan)
        if not arguments.dry_run:
            plan.write()
    except ScaffoldError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    folder = shlex.quote(_relative(plan.folder))
    steps = [first_step.format(folder=folder).removeprefix("cd . && "), plan.tool.command, "python -m pytest"]
    if arguments.json:
        result = {
            **plan.tool.names._asdict(),
            "folder": str(plan.folder),
            "files": list(plan.files),
            "written": not arguments.dry_run,
            "next": steps,
        }
        sys.stdout.write(json.dumps(result) + "\n")
    else:
        verb = "Would write" if arguments.dry_run else "Wrote"
        lines = [f"{verb} {len(plan.files)} files in {folder}:", *plan.files, "Next:", *steps]
        sys.stdout.write("".join(f"{line}\n" if line.endswith(":") else f"  {line}\n" for line in lines))
    return 0


def _refuse_installed(plan: Plan) -> None:
    """Raise ScaffoldError if another distribution has a tool of the same name."""
    names = plan.tool.names
    for each in distributions():
        try:
            taken = plan.tool.entry_points.keys() & each.entry_points.select(group="ask_tools.tools").names
        except (OSError, TypeError, ValueError):  # broken metadata of a package that is of no interest here
            continue
        if taken and each.name != names.distribution:
            proposal = f"my-{names.tool.replace('_', '-')}"
            raise ScaffoldError(f"{each.name} {each.version} has a tool called {min(taken)}; try {proposal}")


def _relative(folder: Path) -> str:
    return str(folder.relative_to(Path.cwd())) if folder.is_relative_to(Path.cwd()) else str(folder)
