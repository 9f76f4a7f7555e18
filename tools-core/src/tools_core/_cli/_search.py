"""`ask-tools search`: the installed tools that match some words, the best first."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from tools_core._cli._list import row_of, write_rows
from tools_core._cli._output import note, write_json
from tools_core._cli._tools import PATTERN_HELP, find_tools, load_matches
from tools_core.search import Index

_EPILOG = """\
Ranks by the words of names, descriptions and parameters, as agents with deferred tools do.

examples:
  ask-tools search "replace text in a file"
  ask-tools search weather --tools ./weather.py
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `search`."""
    parser.epilog = _EPILOG
    parser.add_argument("query", metavar="WORDS", nargs="+", help="what the tool should do")
    parser.add_argument("--tools", metavar="PATTERN", help=f"{PATTERN_HELP}; by default every installed tool")
    parser.add_argument("--limit", metavar="N", type=int, default=10, help="the number of tools; 10 by default")
    parser.add_argument("--json", action="store_true", help="print a JSON array")
    parser.set_defaults(run=run, intermixed=True)


def run(options: Namespace) -> int:
    """Print one line for each match; the exit code is 1 if there is none."""
    tools = load_matches(find_tools(options.tools), optional=options.tools is None)
    definitions = [{**tool.definition, "name": match.name} for match, tool in tools]
    matches = {match.name: match for match, _ in tools}
    hits = Index(definitions).search(" ".join(options.query), options.limit)
    rows = [row_of(matches[hit.name]) | {"score": round(hit.score, 3)} for hit in hits]
    if options.json:
        write_json(rows)
    elif rows:
        write_rows(rows)
    else:
        note("no tool matches; try other words, or ask-tools list")
    return 0 if rows else 1
