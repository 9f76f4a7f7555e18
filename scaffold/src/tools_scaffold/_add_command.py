"""`ask-tools add`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_scaffold._add import add_tool
from tools_scaffold._command import first_call
from tools_scaffold._errors import ScaffoldError
from tools_scaffold._terminal import (
    add_common_options,
    add_tool_options,
    complain,
    from_here,
    installed_tools,
    report,
    tool_options,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping


EPILOG = """\
examples:
  ask-tools add forecast
  ask-tools add forecast --params 'city:str, days:int=3' --style class --dry-run
"""


def configure(parser: argparse.ArgumentParser, installed: Callable[[], Mapping[str, str]] | None = None) -> None:
    """Give `parser` the options of `ask-tools add`, and `run` as what it does; `installed` is as for `new`."""
    parser.description = "Add a tool to a package: its module, export, entry point and test. The rest stays as it is."
    parser.epilog = EPILOG
    parser.add_argument("name", metavar="NAME", help="such as forecast")
    add_tool_options(parser)
    parser.add_argument("--dir", metavar="DIR", help="where the package is (default: here, or the nearest above)")
    add_common_options(parser)

    def run(arguments: argparse.Namespace) -> int:
        return _run(arguments, installed or installed_tools)

    parser.set_defaults(run=run)


def _run(arguments: argparse.Namespace, installed: Callable[[], Mapping[str, str]]) -> int:
    try:
        added = add_tool(
            arguments.name,
            into=arguments.dir,
            **tool_options(arguments),
            dry_run=arguments.dry_run,
            installed=installed(),
        )
    except ScaffoldError as error:
        return complain(error)
    files = {change.path: "changed" if change.before is not None else "made" for change in added.changes}
    # An entry point is read where a package is installed, so a new one asks for it again.
    commands = ["python -m pip install --editable .", first_call(added.answers), "python -m pytest"]
    said = {
        "made": not arguments.dry_run,
        "folder": str(added.folder),
        "tool": added.tool,
        "distribution": added.distribution,
        "files": files,
        "next": commands,
    }
    verb = "would add" if arguments.dry_run else "added"
    lines = [f"{verb} {added.tool} to {added.distribution} in {from_here(added.folder)}"]
    lines += [f"  {path} ({fate})" for path, fate in files.items()]
    report(said, [*lines, "next:", *(f"  {command}" for command in commands)], as_json=arguments.json)
    return 0
