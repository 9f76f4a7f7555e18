"""`ask-tools new`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_scaffold._answers import LICENSES, PYTHONS, STYLES
from tools_scaffold._code import shell_words
from tools_scaffold._errors import ScaffoldError
from tools_scaffold._names import read_name
from tools_scaffold._new import new_package
from tools_scaffold._regions import needed
from tools_scaffold._terminal import (
    add_common_options,
    add_tool_options,
    ask,
    can_ask,
    complain,
    from_here,
    installed_tools,
    report,
    tool_options,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from tools_scaffold._answers import Answers
    from tools_scaffold._plan import Plan


EPILOG = """\
examples:
  ask-tools new weather
  ask-tools new weather --params 'city:str "Name of the city", days:int=3, units:C|F' --dry-run
  ask-tools new tides --style toolset --pydantic --license Apache-2.0 --python 3.12
"""


def configure(parser: argparse.ArgumentParser, installed: Callable[[], Mapping[str, str]] | None = None) -> None:
    """Give `parser` the options of `ask-tools new`, and `run` as what it does.

    `installed` tells the names of the installed tools, each with its distribution, when they are asked for;
    without it the entry points of this environment are read.
    """
    parser.description = "Make a tool package: a typed tool, tests, configuration, CI, publishing."
    parser.epilog = EPILOG
    parser.add_argument("name", metavar="NAME", nargs="?", help="such as weather, tools-weather or WeatherTool")
    add_tool_options(parser)
    parser.add_argument("--author", metavar="NAME", help='such as "Ada <ada@example.org>" (default: as git knows)')
    parser.add_argument("--url", help="where its code will be found (default: as git knows)")
    parser.add_argument("--license", choices=list(LICENSES), default="MIT", help="its text comes along (default: MIT)")
    parser.add_argument("--python", choices=PYTHONS, default=PYTHONS[0], help="the lowest version (default: 3.11)")
    parser.add_argument("--no-ci", action="store_true", help="without workflows for GitHub")
    parser.add_argument(
        "--dir",
        metavar="DIR",
        help="where to make it (default: the repository's folder for packages, else here)",
    )
    add_common_options(parser)

    def run(arguments: argparse.Namespace) -> int:
        return _run(arguments, installed or installed_tools)

    parser.set_defaults(run=run)


def _run(arguments: argparse.Namespace, installed: Callable[[], Mapping[str, str]]) -> int:
    if arguments.name is None and not (can_ask() and not arguments.json):
        return complain(ScaffoldError("a package needs a NAME, such as: ask-tools new weather"))
    try:
        plan = new_package(
            _asked_name(arguments) if arguments.name is None else arguments.name,
            into=arguments.dir,
            **tool_options(arguments),
            author=arguments.author,
            url=arguments.url,
            license=arguments.license,
            python=arguments.python,
            ci=not arguments.no_ci,
            dry_run=arguments.dry_run,
            installed=installed(),
        )
    except ScaffoldError as error:
        return complain(error)
    said = _report(plan, made=not arguments.dry_run)
    report(said, _as_lines(plan, said), as_json=arguments.json)
    return 0


def _asked_name(arguments: argparse.Namespace) -> str:
    """Ask for the name, and for what else was not given and has no usual answer."""
    name = ""
    while not name:
        answer = ask("Name of the tool, such as weather")
        try:
            name = read_name(answer).tool
        except ScaffoldError as error:
            complain(error)
    while arguments.style is None:
        style = ask(f"Style: {', '.join(STYLES)}", STYLES[0])
        arguments.style = style if style in STYLES else None
    if arguments.description is None:
        arguments.description = ask("What it is for, in one line (may be left empty)") or None
    return name


def first_call(answers: Answers) -> str:
    """A call of the tool that works as it is."""
    tool = answers.name.tool + ("_lookup" if answers.style == "toolset" else "")
    return f"ask-tools call {tool} {shell_words(needed(answers.parameters))}"


def _report(plan: Plan, *, made: bool) -> dict[str, Any]:
    return {
        "made": made,
        "folder": str(plan.folder),
        "tool": plan.tool,
        "distribution": plan.distribution,
        "package": plan.package,
        "answers": plan.answers.record(),
        "files": list(plan.files),
        "next": [
            f"cd {from_here(plan.folder)} && python -m pip install --editable . pytest",
            first_call(plan.answers),
            "python -m pytest",
        ],
    }


def _as_lines(plan: Plan, said: dict[str, Any]) -> list[str]:
    files, commands = said["files"], said["next"]
    return [
        f"{'made' if said['made'] else 'would make'} {from_here(plan.folder)} ({len(files)} files)",
        *(f"  {path}" for path in files),
        "next:",
        *(f"  {command}" for command in commands),
    ]
