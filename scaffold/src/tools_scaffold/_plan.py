"""The files that a command will write, and the shared code of `ask-tools new` and `ask-tools add`."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from contextlib import ExitStack
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tools_scaffold._text import ScaffoldError, show
from tools_scaffold._tool import PARAMS, STYLES, Tool, ToolOptions

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable


class Plan(NamedTuple):
    """A tool and the files to write for it; `files` are texts by their paths in `folder`."""

    tool: Tool
    folder: Path
    files: dict[str, str]
    note: str = ""  # why `folder` is not in the current folder

    def write(self) -> None:
        """Write the files; existing ones are replaced only when all the texts are on the disk.

        Raises:
            ScaffoldError: a file or folder cannot be written; nothing was changed.
        """
        staged: dict[Path, Path] = {}
        try:
            with ExitStack() as undo:
                if not self.folder.exists():
                    undo.callback(shutil.rmtree, self.folder, ignore_errors=True)
                for path, text in self.files.items():
                    target = self.folder / path
                    target.parent.mkdir(parents=True, exist_ok=True)
                    staged[target] = target.with_name(f".{target.name}.new")
                    undo.callback(staged[target].unlink, missing_ok=True)
                    staged[target].write_bytes(text.encode("utf-8"))
                for target, source in staged.items():
                    source.replace(target)
                undo.pop_all()
        except OSError as error:
            raise ScaffoldError(f"{show(error.filename)}: {error.strerror}; nothing was changed") from error


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
    """Write a plan and report the files; return the exit code."""
    try:
        plan = make_plan()
        _refuse_installed(plan.tool)
        if not arguments.dry_run:
            plan.write()
    except ScaffoldError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    folder = shlex.quote(_relative(plan.folder))
    install = first_step.format(folder=folder).removeprefix("cd . && ")
    steps = [install, plan.tool.command, "python -m pytest"]
    if find_spec("tools_eval"):
        steps.append("ask-tools eval --model scripted:words")
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
        lines = [f"{verb} {len(plan.files)} files in {folder}{plan.note}:", *plan.files, "Next:", *steps]
        sys.stdout.write("".join(f"{line}\n" if line.endswith(":") else f"  {line}\n" for line in lines))
    return 0


def _refuse_installed(tool: Tool) -> None:
    """Raise ScaffoldError if another distribution has a tool of the same name."""
    for distribution in distributions():
        try:
            names = distribution.entry_points.select(group="ask_tools.tools").names
        except (OSError, TypeError, ValueError):  # the metadata of another package is broken
            continue
        conflicts = tool.entry_points.keys() & names
        if conflicts and distribution.name != tool.names.distribution:
            proposal = f"my-{tool.names.tool.replace('_', '-')}"
            raise ScaffoldError(
                f"{distribution.name} {distribution.version} has a tool called {min(conflicts)}; try {proposal}"
            )


def _relative(folder: Path) -> str:
    return str(folder.relative_to(Path.cwd())) if folder.is_relative_to(Path.cwd()) else str(folder)
