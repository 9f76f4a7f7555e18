"""`ask-tools list`: the installed tools by their metadata alone, unless more is asked for."""

from __future__ import annotations

from tools_core._cli._installed import discovered, listing, tell_problems
from tools_core._cli._terminal import note, one_line, write_json, write_table
from tools_core._registry._entry_points import normalize

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from tools_core._registry._registry import Registry

    Row = dict[str, Any]

_EPILOG = """\
Nothing is imported, unless --details, --read-only or --tag ask for what only the tools themselves can say.
~TOKENS is an estimate: the characters of name, description and input schema as compact JSON, by 4.

examples:
  ask-tools list
  ask-tools list 'get_*' --json
  ask-tools list --package tools-weather --details
  ask-tools list --read-only --tag weather
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `list`."""
    parser.epilog = _EPILOG
    text = "such as 'get_*' or tools-weather: a name, distribution:name or a distribution"
    parser.add_argument("patterns", metavar="PATTERN", nargs="*", help=text)
    parser.add_argument("--package", metavar="NAME", action="append", default=[], help="only those of a distribution")
    parser.add_argument("--read-only", action="store_true", help="only those that change nothing (imports them)")
    parser.add_argument("--tag", metavar="TAG", action="append", default=[], help="only those so tagged (imports them)")
    parser.add_argument("--details", action="store_true", help="show effect, tokens and parameters (imports the tools)")
    parser.add_argument("--json", action="store_true", help="print a JSON array")
    parser.set_defaults(run=run, intermixed=True)


def run(options: Namespace) -> int:
    """Print one line for each tool."""
    rows: Callable[[Registry], Iterable[Row]] = listing
    if options.details or options.read_only or options.tag:
        from functools import partial  # loaded already, by argparse

        from tools_core._cli._details import detailed  # for who wants the tools to be imported

        rows = partial(detailed, options=options)
    return _write(rows, options.patterns, options.package, as_json=options.json, details=options.details)


def write_list(patterns: Sequence[str], *, as_json: bool) -> int:
    """Print the tools that match, without argparse having been needed."""
    return _write(listing, patterns, as_json=as_json)


def _write(
    rows: Callable[[Registry], Iterable[Row]],
    patterns: Sequence[str],
    packages: Sequence[str] = (),
    *,
    as_json: bool,
    details: bool = False,
) -> int:
    registry = discovered()
    tools = [tool for tool in rows(registry) if _matches(tool, patterns) and _is_of(tool, packages)]
    if as_json:
        write_json(tools)
    elif tools:
        head = ["TOOL", "EFFECT", "~TOKENS", "PARAMETERS"] if details else ["TOOL"]
        cells = [[*_first(tool, details), _origin(tool), tool["summary"]] for tool in tools]
        write_table([[*head, "FROM", "SUMMARY"], *([one_line(cell) for cell in row] for row in cells)])
    elif count := len(registry):
        note(f"none of the {count} tools {_wanted(patterns)}")
    else:
        note("no tools are installed; make your own: ask-tools new NAME")
    tell_problems(registry)
    return 0


def _first(tool: Row, details: bool) -> list[str]:
    if not details:
        return [tool["name"]]
    asks = ", asks" if tool["requires_approval"] else ""
    return [tool["name"], tool["effect"] + asks, str(tool["tokens"]), tool["parameters"]]


def _origin(tool: Row) -> str:
    return f"{tool['distribution']} {tool['version']}"


def _wanted(patterns: Sequence[str]) -> str:
    return f"matches {' '.join(patterns)}" if patterns else "is as asked for"


def _is_of(tool: Row, packages: Sequence[str]) -> bool:
    return not packages or tool["distribution"] in map(normalize, packages)


def _matches(tool: Row, patterns: Sequence[str]) -> bool:
    if not patterns:
        return True
    from fnmatch import fnmatchcase  # 1 ms, for patterns alone

    bare = tool["name"].rpartition(":")[2]
    names = (tool["name"], bare, f"{tool['distribution']}:{bare}", tool["distribution"])
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)
