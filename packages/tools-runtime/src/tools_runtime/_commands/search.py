"""`ask-tools search`: the installed tools that match some words, the best first."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from tools_core.command import CommandError, find_tools, note, one_line, write_json, write_table
from tools_runtime.search import Index

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
    parser.add_argument("--tools", metavar="PATTERN", help="search only these; by default every installed tool")
    parser.add_argument("--limit", metavar="N", type=int, default=10, help="the number of tools; 10 by default")
    parser.add_argument("--json", action="store_true", help="print a JSON array")
    parser.set_defaults(run=run, intermixed=True)


def run(options: Namespace) -> int:
    """Print one line for each match; the exit code is 1 if there is none."""
    origins: dict[str, tuple[str, str]] = {}
    definitions: list[dict[str, Any]] = []
    for match in find_tools(None if options.tools is None else [options.tools]):
        try:
            definitions.append({**match.load().definition, "name": match.name})
        except CommandError as error:
            if options.tools is not None:
                raise
            note(f"skipped: {error}")
        point = match.origin
        origins[match.name] = ("", "") if point is None else (point.distribution, point.version)
    descriptions = {item["name"]: item["description"].strip().partition("\n")[0] for item in definitions}
    rows = [
        {
            "name": hit.name, "distribution": origins[hit.name][0], "version": origins[hit.name][1],
            "description": descriptions[hit.name], "score": round(hit.score, 3),
        }
        for hit in Index(definitions).search(" ".join(options.query), options.limit)
    ]  # fmt: skip
    if options.json:
        write_json(rows)
    elif rows:
        lines = [(row["name"], f"{row['distribution']} {row['version']}", row["description"]) for row in rows]
        write_table([["TOOL", "FROM", "DESCRIPTION"], *([one_line(str(cell)) for cell in line] for line in lines)])
    else:
        note("no tool matches; try other words, or ask-tools list")
    return 0 if rows else 1
