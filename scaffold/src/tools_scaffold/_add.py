"""`ask-tools add`: add a tool to an existing package."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from tools_scaffold._names import Names, tool_name
from tools_scaffold._plan import Plan, add_options, run, tool_options
from tools_scaffold._project import find_project, read, with_entry_points, with_export
from tools_scaffold._text import ScaffoldError, show
from tools_scaffold._tool import ToolOptions, make_tool

if TYPE_CHECKING:
    import argparse
    from os import PathLike

EPILOG = """\
examples:
  ask-tools add forecast
  ask-tools add forecast --params 'city:str, days:int=3' --style class --dry-run
"""


def plan_tool(name: str, *, into: str | PathLike[str] | None = None, **options: Unpack[ToolOptions]) -> Plan:
    """Plan another tool, called `name`, for the package in `into` or above it; `Plan.write()` writes it.

    The tool gets a module, a test, an export in `__init__.py` and an entry point in `pyproject.toml`. No other line
    of these files changes.

    Raises:
        ScaffoldError: the name or an option is invalid, or one of the files cannot be extended.
    """
    project = find_project(Path(into or ".").resolve())
    package = project.package()
    tool = make_tool(Names(tool_name(name), project.distribution, package), options)
    for existing in tool.entry_points.keys() & project.entry_points.keys():
        raise ScaffoldError(f"{project.distribution} already has a tool called {existing}")
    for path in tool.files:
        if (project.folder / path).exists():
            raise ScaffoldError(f"{show(project.folder / path)} exists; choose another name")
    init = f"src/{package}/__init__.py"
    exports = with_export(read(project.folder / init), package, f"_{tool.names.tool}", tool.exported)
    changed = {init: exports, "pyproject.toml": with_entry_points(project, tool.entry_points)}
    return Plan(tool, project.folder, tool.files | changed)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `ask-tools add` to `parser`, and the function that runs it."""
    parser.description = "Add a tool to a package: its module, test, export and entry point."
    parser.epilog = EPILOG
    add_options(parser)
    parser.add_argument("--dir", help="folder of the package (default: the current one, or the nearest above)")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    def make_plan() -> Plan:
        return plan_tool(arguments.name, into=arguments.dir, **tool_options(arguments))

    # An editable installation registers the entry points that existed when it was installed.
    return run(arguments, make_plan, first_step="cd {folder} && python -m pip install --editable .")
