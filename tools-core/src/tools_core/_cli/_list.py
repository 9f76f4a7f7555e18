"""`ask-tools list`: the installed tools, each with the first line of its description."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from tools_core._cli._installed import discovered, note_problems, prints_aside
from tools_core._cli._terminal import CommandError, note, one_line, write_json, write_table
from tools_core._values._errors import ToolError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from tools_core._registry._registry import Registry

_EPILOG = """\
The packages of the listed tools are imported. A package that cannot be imported is shown with its error and hides no
other; `ask-tools doctor` shows details, also of a package that hangs or crashes.
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
    rows: list[dict[str, str | None]] = []
    for name in registry:
        point = registry.origin(name)
        if point is not None and _matches(name, point.distribution, options.patterns or ["*"]):
            row = {"name": name, "distribution": point.distribution, "version": point.version}
            rows.append({**row, "entry_point": point.value, **_description(name, registry)})
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


def _description(name: str, registry: Registry) -> dict[str, str | None]:
    """Return the first line of a tool's description, or the error if the tool cannot be loaded."""
    try:
        with prints_aside():
            description = registry[name].definition["description"]
    except ToolError as failure:
        cause = failure.__cause__
        return {"description": "", "error": f"{type(cause).__name__}: {cause}" if cause else failure.message}
    return {"description": description.strip().partition("\n")[0], "error": None}


def _text(row: dict[str, str | None]) -> str:
    return f"(cannot be loaded: {row['error']})" if row["error"] else str(row["description"])


def _matches(name: str, distribution: str, patterns: list[str]) -> bool:
    bare = name.rpartition(":")[2]
    names = (name, bare, f"{distribution}:{bare}", distribution)
    return any(fnmatchcase(each, pattern) for each in names for pattern in patterns)
