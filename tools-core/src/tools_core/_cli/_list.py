"""`ask-tools list`: the installed tools, each with its one-line description."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from tools_core._cli._descriptions import describe
from tools_core._cli._installed import discovered, note_problems
from tools_core._cli._terminal import CommandError, note, one_line, write_json, write_table

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_EPILOG = """\
A package is imported once, to read the descriptions of its tools, and again after it has changed.
Exit codes: 0 success, 1 no tool matches.

examples:
  ask-tools list
  ask-tools list 'get_*' --json
  ask-tools list tools-weather
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `list`."""
    parser.epilog = _EPILOG
    text = "a name, distribution or distribution:name, with * and ?; such as 'get_*' or tools-weather"
    parser.add_argument("patterns", metavar="PATTERN", nargs="*", help=text)
    parser.add_argument("--json", action="store_true", help="print a JSON array")
    parser.set_defaults(run=run, intermixed=True)


def run(options: Namespace) -> int:
    """Print one line for each tool that matches any of the patterns."""
    registry = discovered()
    descriptions, errors = describe(registry)
    rows: list[dict[str, str | None]] = []
    for name in registry:
        point = registry.origin(name)
        if point is not None and _matches(name, point.distribution, options.patterns or ["*"]):
            row = {"name": name, "distribution": point.distribution, "version": point.version}
            row |= {"entry_point": point.value, "description": descriptions.get(name, "")}
            rows.append({**row, "error": errors.get(name)})
    if options.json:
        write_json(rows)
    elif rows:
        table = [(row["name"], f"{row['distribution']} {row['version']}", _text(row)) for row in rows]
        write_table([("TOOL", "FROM", "DESCRIPTION"), *([one_line(str(cell)) for cell in row] for row in table)])
    elif not options.patterns:
        note("no tools are installed; make your own: ask-tools new NAME")
    note_problems(registry)
    if options.patterns and not rows:
        raise CommandError(f"none of the {len(registry)} tools matches {' '.join(options.patterns)}", status=1)
    return 0


def _text(row: dict[str, str | None]) -> str:
    return f"(cannot be loaded: {row['error']})" if row["error"] else str(row["description"])


def _matches(name: str, distribution: str, patterns: list[str]) -> bool:
    bare = name.rpartition(":")[2]
    names = (name, bare, f"{distribution}:{bare}", distribution)
    return any(fnmatchcase(each, pattern) for each in names for pattern in patterns)
