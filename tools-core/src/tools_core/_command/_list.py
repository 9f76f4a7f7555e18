"""`ask-tools list`: the installed tools by their metadata alone."""

from __future__ import annotations

from tools_core._command._installed import discovered, listing
from tools_core._command._terminal import note, one_line, write_json, write_table

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `list`."""
    text = "such as 'get_*' or tools-weather: a name, distribution:name or a distribution"
    parser.add_argument("patterns", metavar="PATTERN", nargs="*", help=text)
    parser.add_argument("--json", action="store_true", help="print a JSON array")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print one line for each tool."""
    return write_list(options.patterns, as_json=options.json)


def write_list(patterns: Sequence[str], *, as_json: bool) -> int:
    """Print the tools that match, and in one line each what else is to be known."""
    registry = discovered()
    everything = list(listing(registry))
    tools = [tool for tool in everything if _matches(tool, patterns)]
    if as_json:
        write_json(tools)
    elif tools:
        cells = [[tool["name"], f"{tool['distribution']} {tool['version']}", tool["summary"]] for tool in tools]
        write_table([["TOOL", "FROM", "SUMMARY"], *([one_line(cell) for cell in row] for row in cells)])
    elif everything:
        note(f"none of the {len(everything)} tools matches {' '.join(patterns)}")
    else:
        note("no tools are installed; make your own: ask-tools new NAME")
    if problems := len(registry.problems):
        note(f"{problems} problem{'s' * (problems > 1)} found; details: ask-tools doctor")
    if blocked := len(registry.blocked):
        note(f"{blocked} barred by ASK_TOOLS_ALLOW or ASK_TOOLS_DENY; details: ask-tools doctor")
    return 0


def _matches(tool: dict[str, str], patterns: Sequence[str]) -> bool:
    if not patterns:
        return True
    from fnmatch import fnmatchcase  # 1 ms, for patterns alone

    bare = tool["name"].rpartition(":")[2]
    names = (tool["name"], bare, f"{tool['distribution']}:{bare}", tool["distribution"])
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)
