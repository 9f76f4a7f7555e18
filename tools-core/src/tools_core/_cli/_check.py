"""`ask-tools check`: what is wrong with the definitions of tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_core._cli._facts import tokens
from tools_core._cli._findings import Findings
from tools_core._cli._installed import discovered, loaded, loaded_all
from tools_core._cli._terminal import counted, one_line, write, write_json
from tools_core.formats import FORMATS

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from tools_core._registry._registry import Registry
    from tools_core._tools._tool import Tool

_EPILOG = """\
Errors are a tool that does not load, a definition that is not legal, and two tools of one name. Warnings are
descriptions that are missing, names that look alike, and with --for a tool that cannot be strict. ~tokens is an
estimate of what a definition costs in each request: the characters of name, description and input schema as compact
JSON, by 4.
Exit codes: 0 no error, 1 an error (with --strict: or a warning), 2 unknown tool.

examples:
  ask-tools check
  ask-tools check get_weather --for openai-strict
  ask-tools check --json
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `check`."""
    parser.epilog = _EPILOG
    parser.add_argument("names", metavar="TOOL", nargs="*", help="the tools to check; all of them by default")
    strict = [name for name, each in FORMATS.items() if each.strict]
    text = f"warn about tools that this format sends without strict: {', '.join(strict)}"
    parser.add_argument("--for", dest="format", metavar="FORMAT", choices=strict, help=text)
    parser.add_argument("--strict", action="store_true", help="warnings are errors")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.set_defaults(run=run, intermixed=True)


def run(options: Namespace) -> int:
    """Print the findings; 1 if there is an error."""
    registry = discovered()
    if options.names:
        tools = {name: loaded(registry, name) for name in dict.fromkeys(options.names)}
    else:
        tools = loaded_all(registry)
    rows = [*_checked(registry, tools, options.format), *(() if options.names else _broken(registry, tools))]
    errors, warnings = (sum(len(row[kind]) for row in rows) for kind in ("errors", "warnings"))
    total = sum(row["tokens"] for row in rows)
    if options.json:
        write_json({"tools": rows, "errors": errors, "warnings": warnings, "tokens": total})
    else:
        _write(rows, f"{counted(len(rows), 'tool')}, ~{total} tokens: {counted(errors, 'error')}", warnings)
    return 1 if errors or (options.strict and warnings) else 0


def _checked(registry: Registry, tools: dict[str, Tool], strict: str | None) -> Iterator[dict[str, Any]]:
    findings = Findings(list(registry), strict)
    for name, tool in tools.items():
        point = registry.origin(name)
        errors, warnings = findings.of(name, tool)
        yield {
            "name": name,
            "distribution": point.distribution if point else "",
            "version": point.version if point else "",
            "tokens": 0 if errors else tokens(tool.definition),
            "errors": errors,
            "warnings": warnings,
        }


def _broken(registry: Registry, tools: dict[str, Tool]) -> Iterator[dict[str, Any]]:
    """What is installed and is no tool; names that two packages have are told with the tools themselves."""
    for problem in registry.problems:
        names = {problem.name, f"{problem.distribution}:{problem.name}"}
        if names.isdisjoint(tools):
            yield {
                "name": problem.name,
                "distribution": problem.distribution,
                "version": problem.version,
                "tokens": 0,
                "errors": [f"{problem.error}; fix: {problem.fix}"],
                "warnings": [],
            }


def _write(rows: list[dict[str, Any]], summary: str, warnings: int) -> None:
    lines: list[str] = []
    for row in rows:
        verdict = "error" if row["errors"] else "warning" if row["warnings"] else "ok"
        lines.append(f"{row['name']} ({row['distribution']} {row['version']})  ~{row['tokens']} tokens  {verdict}")
        lines += [f"  {kind}: {text}" for kind in ("error", "warning") for text in row[f"{kind}s"]]
    write("\n".join(map(one_line, [*lines, f"{summary}, {counted(warnings, 'warning')}"])))
