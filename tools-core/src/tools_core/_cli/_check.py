"""`ask-tools check`: errors and weaknesses of definitions."""

from __future__ import annotations

import json
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import suppress
from inspect import unwrap
from typing import Any

from tools_core._cli._commands import admitted, check_blocked, extension
from tools_core._cli._install import install_command
from tools_core._cli._output import CommandError, counted, one_line, write, write_json
from tools_core._cli._schema_text import parameters
from tools_core._cli._tools import PATTERN_HELP, discovered, find_tools, load_matches
from tools_core._registry._entry import LoadProblem
from tools_core._registry._entry_points import EntryPoint
from tools_core._registry._registry import Registry
from tools_core._tools._options import check_name
from tools_core._tools._tool import Tool
from tools_core._tools._wrapped import is_tool
from tools_core._values._errors import DefinitionError
from tools_core.schema import compile as compile_schema

Row = dict[str, Any]
# Rates tools by name; the second argument are all installed tools. Returns "score", "tokens" and "findings" for each.
Scorer = Callable[[dict[str, Tool], dict[str, Tool]], dict[str, Row]]

# Placeholder descriptions: the text of `ask-tools new` and `add`, and marks to fill them in later.
_PLACEHOLDER = re.compile(r"\W*(describe (here|the|this)\b|todo\b|fixme\b|tbd\b|xxx\b|lorem ipsum|\W*$)", re.IGNORECASE)

_EPILOG = """\
Errors: a tool that cannot be loaded, a definition that is not valid, two tools with one name. Warnings: descriptions
that are missing, placeholders, or of unknown parameters.
--score rates descriptions by a rubric, without a model, with the reason and the fix for each lost point, and estimates
the tokens of a definition in each request.
Exit codes: 0 no error, 1 an error (with --strict: or a warning), 2 unknown tool.

examples:
  ask-tools check get_weather --json
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `check`."""
    parser.epilog = _EPILOG
    text = f"{PATTERN_HELP}; by default every installed tool"
    parser.add_argument("patterns", metavar="TOOL", nargs="*", default=[], help=text)
    parser.add_argument("--score", action="store_true", help="rate descriptions from 0 to 100; needs tools-eval")
    text = "with --score: a tool with fewer points is an error"
    parser.add_argument("--min", metavar="POINTS", type=int, default=0, help=text)
    parser.add_argument("--strict", action="store_true", help="warnings are errors")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run, intermixed=True)


def run(options: Namespace) -> int:
    """Print the findings; 1 if there is an error."""
    rows = _rows(options.patterns, discovered(), score=_scorer() if options.score or options.min else None)
    for row in rows:
        if "score" in row and row["score"] < options.min:
            row["errors"].append(f"its score is {row['score']}, below {options.min}")
    errors, warnings = (sum(len(row[kind]) for row in rows) for kind in ("errors", "warnings"))
    if options.json:
        write_json({"tools": rows, "errors": errors, "warnings": warnings})
    else:
        summary = f"{counted(len(rows), 'tool')}: {counted(errors, 'error')}"
        write("\n".join(map(one_line, [*_lines(rows), f"{summary}, {counted(warnings, 'warning')}"])))
    return 1 if errors or (options.strict and warnings) else 0


def _scorer() -> Scorer:
    """Return the function of another package that rates tools, which also sees all installed ones."""
    entries, blocked = admitted("ask_tools.score")
    if not entries:
        check_blocked(blocked, "rates descriptions")
        fix = f"fix: {install_command('tools-eval')}"
        raise CommandError("--score is part of tools-eval, which is not installed", fix)
    with extension(entries[0], "rates descriptions"):
        scorer: Scorer = entries[0].load()
    return scorer


def _rows(patterns: list[str], registry: Registry, score: Scorer | None) -> list[Row]:
    """Return the findings for each tool, and without patterns also for each entry point that is not a tool."""
    rows: dict[str, Row] = {}
    tools: dict[str, Tool] = {}
    for match in find_tools(patterns or None, registry):
        point = match.origin
        key = point.qualified if point else match.name
        row = rows[key] = _row(match.name, point)
        with suppress(CommandError):  # a tool that cannot be loaded is among the problems of the registry
            tool = match.load()
            row["errors"] += _invalid(tool.definition)
            if not row["errors"]:
                tools[key] = tool
                row["warnings"] += _weaknesses(tool, tool.definition)
    for problem in registry.problems:
        name = f"{problem.distribution}:{problem.name}"
        if name in rows or not patterns:
            row = rows.setdefault(name, _row(problem.name, problem))
            row["errors"].append(f"{problem.error}; fix: {problem.fix}")
    if score is not None:
        installed = dict(load_matches(find_tools(None, registry), optional=True)) if registry else {}
        for key, facts in score(tools, {match.name: tool for match, tool in installed.items()}).items():
            rows[key] |= facts
    return [*rows.values()]


def _row(name: str, origin: EntryPoint | LoadProblem | None) -> Row:
    distribution, version = (origin.distribution, origin.version) if origin else ("", "")
    return {"name": name, "distribution": distribution, "version": version, "errors": [], "warnings": []}


def _lines(rows: list[Row]) -> Iterator[str]:
    for row in rows:
        verdict = "error" if row["errors"] else "warning" if row["warnings"] else "ok"
        source = f" ({row['distribution']} {row['version']})" if row["distribution"] else ""
        points = f"  ~{row['tokens']} tokens  {row['score']}/100" if "score" in row else ""
        yield f"{row['name']}{source}{points}  {verdict}"
        for finding in row.get("findings", ()):
            yield f"  -{finding['points']} {finding['criterion']}: {finding['reason']}; {finding['fix']}"
        for kind in ("error", "warning"):
            yield from (f"  {kind}: {text}" for text in row[f"{kind}s"])


def _invalid(definition: dict[str, Any]) -> Iterator[str]:
    """Yield why a definition is not valid: a tool may compute it, and then it was not checked before."""
    try:
        check_name(definition["name"], "it")
        compile_schema(definition["input_schema"])
        json.dumps(definition, allow_nan=False)
    except (DefinitionError, TypeError, ValueError, RecursionError) as error:
        yield f"its definition is not valid: {error}"


def _weaknesses(tool: Tool, definition: dict[str, Any]) -> Iterator[str]:
    if not definition["description"].strip():
        yield "it has no description: a model sees only its name"
    elif _PLACEHOLDER.match(definition["description"]):
        yield "its description is a placeholder"
    schema = definition["input_schema"]
    for name, _, _, description in parameters(schema, schema):
        if not description.strip():
            yield f"parameter `{name}` has no description"
        elif _PLACEHOLDER.match(description):
            yield f"the description of parameter `{name}` is a placeholder"
    for name in tool._spec.unused_docs:
        yield f"its docstring describes `{name}`, which is not a parameter"
    for name in _tools_called_without_approval(tool):
        yield f"it calls `{name}` as a function, without the approval that this tool requires; see docs/approval.md"


def _tools_called_without_approval(tool: Tool) -> Iterator[str]:
    """Yield the global names in the code of a tool that are tools which require approval, unless it does as well."""
    function: Any = unwrap(getattr(tool, "__wrapped__", None) or type(tool).execute)
    code, names = getattr(function, "__code__", None), getattr(function, "__globals__", {})
    for name in code.co_names if code and not tool.requires_approval else ():
        value: Any = names.get(name)
        if is_tool(value) and value.requires_approval:
            yield name
