"""`ask-tools check`: errors and weaknesses of definitions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tools_core._cli._installed import discovered, load, load_all
from tools_core._cli._schema_text import parameters
from tools_core._cli._terminal import counted, one_line, write, write_json
from tools_core._definition._naming import check_name
from tools_core._jsonschema import compile_schema
from tools_core._values._errors import DefinitionError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from tools_core._registry._entry_points import EntryPoint
    from tools_core._registry._load_problem import LoadProblem
    from tools_core._registry._registry import Registry
    from tools_core._tools._tool import Tool

    Row = dict[str, Any]
    Definition = dict[str, Any]

_CHARACTERS_PER_TOKEN = 4  # of English text; each model counts in its own way

_EPILOG = """\
Errors: a tool that cannot be loaded, a definition that is not valid, two tools with one name. Warnings: missing
descriptions. ~tokens estimates the cost of a definition in each request: the characters of name, description and input
schema as compact JSON, divided by 4.
Exit codes: 0 no error, 1 an error (with --strict: or a warning), 2 unknown tool.

examples:
  ask-tools check
  ask-tools check get_weather --json
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `check`."""
    parser.epilog = _EPILOG
    text = "NAME, DISTRIBUTION:NAME or FILE.py:NAME; by default every installed tool"
    parser.add_argument("names", metavar="TOOL", nargs="*", help=text)
    parser.add_argument("--strict", action="store_true", help="warnings are errors")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run, intermixed=True)


def run(options: Namespace) -> int:
    """Print the findings; 1 if there is an error."""
    registry = discovered()
    tools = {name: load(name, registry) for name in options.names} if options.names else load_all(registry)
    rows = list(_rows(registry, tools, is_all=not options.names))
    errors, warnings = (sum(len(row[kind]) for row in rows) for kind in ("errors", "warnings"))
    total = sum(row["tokens"] for row in rows)
    if options.json:
        write_json({"tools": rows, "errors": errors, "warnings": warnings, "tokens": total})
    else:
        summary = f"{counted(len(rows), 'tool')}, ~{total} tokens: {counted(errors, 'error')}"
        write("\n".join(map(one_line, [*_lines(rows), f"{summary}, {counted(warnings, 'warning')}"])))
    return 1 if errors or (options.strict and warnings) else 0


def _rows(registry: Registry, tools: dict[str, Tool], *, is_all: bool) -> Iterator[Row]:
    """Yield the findings for each tool, and with `is_all` for each entry point that is not a tool."""
    problems = {f"{each.distribution}:{each.name}": each for each in registry.problems}
    for name, tool in tools.items():
        point = None if ".py" in name else registry.origin(name)
        problem = problems.pop(point.qualified, None) if point else None
        invalid = list(_invalid(tool.definition))
        row = _row(name, point)
        row["errors"] += [*invalid, *([f"{problem.error}; fix: {problem.fix}"] if problem else [])]
        if not invalid:
            row |= {"tokens": _tokens(tool.definition), "warnings": list(_undescribed(tool.definition))}
        yield row
    for problem in problems.values() if is_all else ():
        yield _row(problem.name, problem) | {"errors": [f"{problem.error}; fix: {problem.fix}"]}


def _row(name: str, origin: EntryPoint | LoadProblem | None) -> Row:
    distribution, version = (origin.distribution, origin.version) if origin else ("", "")
    return {"name": name, "distribution": distribution, "version": version, "tokens": 0, "errors": [], "warnings": []}


def _lines(rows: list[Row]) -> Iterator[str]:
    for row in rows:
        verdict = "error" if row["errors"] else "warning" if row["warnings"] else "ok"
        source = f" ({row['distribution']} {row['version']})" if row["distribution"] else ""
        yield f"{row['name']}{source}  ~{row['tokens']} tokens  {verdict}"
        for kind in ("error", "warning"):
            yield from (f"  {kind}: {text}" for text in row[f"{kind}s"])


def _tokens(definition: Definition) -> int:
    sent = {key: definition[key] for key in ("name", "description", "input_schema")}
    text = json.dumps(sent, ensure_ascii=False, separators=(",", ":"))
    return -(-len(text) // _CHARACTERS_PER_TOKEN)


def _invalid(definition: Definition) -> Iterator[str]:
    """Yield why a definition is not valid: a tool may compute it, so that it was not checked when it was made."""
    try:
        check_name(definition["name"], "it")
        compile_schema(definition["input_schema"])
        json.dumps(definition, allow_nan=False)
    except (DefinitionError, TypeError, ValueError, RecursionError) as error:
        yield f"its definition is not valid: {error}"


def _undescribed(definition: Definition) -> Iterator[str]:
    if not definition["description"].strip():
        yield "it has no description: a model sees only its name"
    schema = definition["input_schema"]
    for name, _, _, about in parameters(schema, schema):
        if not about.strip():
            yield f"parameter `{name}` has no description"
