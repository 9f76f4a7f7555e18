"""What the sub-commands share: how they report, and when they ask."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools_scaffold._answers import STYLES

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping

    from tools_scaffold._answers import ToolOptions


def add_tool_options(parser: argparse.ArgumentParser) -> None:
    """Give `parser` the options that say what a tool is."""
    parser.add_argument("--style", choices=STYLES, help="how the tool is written (default: function)")
    parser.add_argument(
        "--params", metavar="PARAMS", help='such as "city:str, days:int=3, units:C|F" (default: a sample)'
    )
    parser.add_argument("--pydantic", action="store_true", help="describe parameters and answer with pydantic")
    parser.add_argument("--description", metavar="TEXT", help="what it is for, in one line")


def tool_options(arguments: argparse.Namespace) -> ToolOptions:
    """What `add_tool_options` has read."""
    return {
        "style": arguments.style or STYLES[0],
        "params": arguments.params,
        "pydantic": arguments.pydantic,
        "description": arguments.description,
    }


def add_common_options(parser: argparse.ArgumentParser) -> None:
    """Give `parser` the options of every sub-command."""
    parser.add_argument("--dry-run", action="store_true", help="show what would be done, and write nothing")
    parser.add_argument("--json", action="store_true", help="report as JSON")


def complain(error: Exception) -> int:
    """Tell an error, and return the exit code for it."""
    sys.stderr.write(f"error: {error}\n")
    return 2


def report(report: Mapping[str, Any], lines: Iterable[str], *, as_json: bool) -> None:
    """Print a report: as JSON, or else the lines."""
    if as_json:
        import json  # the plain report needs none

        sys.stdout.write(json.dumps(report) + "\n")
    else:
        sys.stdout.write("\n".join(lines) + "\n")


def can_ask() -> bool:
    """Whether somebody sits before a terminal."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return all(stream is not None and stream.isatty() for stream in streams)


def ask(question: str, default: str = "") -> str:
    """Ask on the terminal; at its end or on Ctrl-C the program ends as if nothing had been asked."""
    sys.stderr.write(f"{question}{f' [{default}]' if default else ''}: ")
    sys.stderr.flush()
    try:
        answer = sys.stdin.readline()
    except KeyboardInterrupt:
        answer = ""
    if not answer:
        sys.stderr.write("\n")
        raise SystemExit(130)
    return answer.strip() or default


def from_here(folder: Path) -> str:
    """Write `folder` as a shell takes it, relative to the current folder where it lies in it."""
    text = str(folder)
    with suppress(OSError, ValueError):  # it lies elsewhere, or the current folder is gone
        text = str(folder.relative_to(Path.cwd()))
    return shlex.quote(text) if text.isprintable() else ascii(text)


def installed_tools() -> dict[str, str]:
    """The tools of this environment, each with its distribution, by their metadata alone."""
    from importlib.metadata import distributions  # 20 ms, and --help needs none of it

    found: dict[str, str] = {}
    for each in distributions():
        try:
            for entry in each.entry_points.select(group="ask_tools.tools"):
                found.setdefault(entry.name, f"{each.name} {each.version}")
        except (KeyError, OSError, TypeError, ValueError):  # broken metadata of one package hides no other
            continue
    return found
