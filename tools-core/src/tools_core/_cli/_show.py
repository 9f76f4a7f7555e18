"""`ask-tools show`: what a tool is for, what it takes, and where it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_core._cli._installed import installed_tool
from tools_core._cli._schema_text import choices, parameters, type_text
from tools_core._cli._terminal import one_line, write, write_json

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Mapping

    from tools_core._tools._tool import Tool


_EPILOG = """\
examples:
  ask-tools show get_weather
  ask-tools show tools-weather:get_weather --json
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `show`."""
    parser.epilog = _EPILOG
    parser.add_argument("name", metavar="NAME", help="the tool, or DISTRIBUTION:NAME")
    parser.add_argument("--json", action="store_true", help="print the definition and the origin as JSON")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print one tool's definition."""
    tool, origin = installed_tool(options.name)
    definition = tool.definition
    if options.json:
        write_json({**definition, "origin": origin})
        return 0
    schema = definition["input_schema"]
    rows = list(parameters(schema, schema))
    sections = [
        (definition["name"], _indented(definition["description"] or "(it has no description)")),
        ("parameters", _columns(rows) if rows else "  none"),
        ("good to know", "\n".join(f"  {fact}" for fact in _facts(tool))),
        ("from", "\n".join(f"  {key:<14}{value}" for key, value in origin.items() if value)),
        ("try it", f"  ask-tools call {options.name}{_example(schema)}"),
    ]
    write("\n\n".join(f"{title}\n{text}" for title, text in sections if text))
    return 0


def _columns(rows: list[tuple[str, ...]]) -> str:
    widths = [min(max(map(len, column)), 32) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(f"  {line.rstrip()}" for line in lines)


def _facts(tool: Tool) -> list[str]:
    """What a caller should know before the call, in words."""
    words = {True: "", False: "not "}
    facts = [words[value] + hint.replace("_", "-") for hint, value in tool.annotations.items()]
    if tool.requires_approval:
        facts.append("requires approval: asks before it runs")
    if tool.timeout is not None:
        facts.append(f"time limit {tool.timeout:g} s")
    if not tool.repair:
        facts.append("repairs no argument")
    if tool.tags:
        facts.append(f"tags {', '.join(map(one_line, tool.tags))}")
    return facts


def _example(schema: Mapping[str, Any]) -> str:
    """The required arguments, to be filled in."""
    required = schema.get("required", ())
    return "".join(f" {one_line(name)}={_sample(schema['properties'].get(name), schema)}" for name in required)


def _sample(schema: Any, root: Mapping[str, Any]) -> str:
    """A choice to begin with, or the type as a blank to fill in."""
    texts = [choice for choice in choices(schema, root) if isinstance(choice, str)]
    kind = type_text(schema, root)
    return texts[0] if texts else kind.upper() if kind.isidentifier() else "VALUE"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in text.splitlines())
