"""`ask-tools list`: the installed tools, each with the first line of its description."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping
from typing import Any

from tools_core._cli._output import CommandError, counted, note, one_line, write_json, write_table
from tools_core._cli._tools import PATTERN_HELP, Match, discovered, find_tools

_EPILOG = """\
The packages of the listed tools are imported. A tool that cannot be loaded is listed with its error.
`ask-tools doctor` shows details, also of a package that hangs or crashes.

examples:
  ask-tools list 'get_*' --json
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `list`."""
    parser.epilog = _EPILOG
    text = f"{PATTERN_HELP}; by default every installed tool"
    parser.add_argument("patterns", metavar="PATTERN", nargs="*", help=text)
    parser.add_argument("--json", action="store_true", help="print a JSON array")
    parser.set_defaults(run=run, intermixed=True)


def run(options: Namespace) -> int:
    """Print one line for each tool that any of the patterns selects."""
    registry = discovered()
    rows = [row_of(match) for match in find_tools(options.patterns or None, registry)]
    if options.json:
        write_json(rows)
    elif rows:
        write_rows(rows)
    else:
        note("no tools are installed; make your own: ask-tools new NAME")
    if problems := len(registry.problems):
        note(f"{counted(problems, 'problem')} found; details: ask-tools doctor")
    if blocked := len(registry.blocked):
        note(f"{blocked} blocked by ASK_TOOLS_ALLOW, ASK_TOOLS_DENY or ASK_TOOLS_LOCK; details: ask-tools doctor")
    return 0


def write_rows(rows: Iterable[Mapping[str, Any]]) -> None:
    """Print a table of tools."""
    table = [["TOOL", "FROM", "DESCRIPTION"]]
    for row in rows:
        text = f"(cannot be loaded: {row['error']})" if row["error"] else row["description"]
        table.append([one_line(cell) for cell in (row["name"], f"{row['distribution']} {row['version']}", text)])
    write_table(table)


def row_of(match: Match) -> dict[str, Any]:
    """Return the facts about a tool; importing it may fail, which is one of them."""
    point = match.origin
    row: dict[str, Any] = {"name": match.name, "distribution": "", "version": "", "entry_point": ""}
    if point is not None:
        row |= {"distribution": point.distribution, "version": point.version, "entry_point": point.value}
    row |= {"description": "", "deferred": False, "verify": None, "error": None}
    try:
        tool = match.load()
    except CommandError as failure:
        cause = failure.__cause__
        return {**row, "error": f"{type(cause).__name__}: {cause}" if cause else str(failure)}
    description = tool.definition["description"].strip().partition("\n")[0]
    return {**row, "description": description, "deferred": tool.deferred, "verify": tool.verify}
