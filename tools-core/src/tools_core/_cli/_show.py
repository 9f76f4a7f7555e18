"""`ask-tools show`: the purpose, parameters and origin of a tool."""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING, Any

from tools_core._cli._installed import load, origin
from tools_core._cli._schema_text import choices, parameters, type_text
from tools_core._cli._terminal import aligned, one_line, write, write_json

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from tools_core._tools._tool import Tool

_EPILOG = """\
examples:
  ask-tools show get_weather
  ask-tools show tools-weather:get_weather --json
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `show`."""
    parser.epilog = _EPILOG
    parser.add_argument("name", metavar="TOOL", help="NAME, DISTRIBUTION:NAME or FILE.py:NAME")
    parser.add_argument("--json", action="store_true", help="print the definition and the origin as JSON")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print one tool's definition."""
    tool = load(options.name)
    definition, source = tool.definition, origin(options.name, tool)
    if options.json:
        write_json({**definition, "origin": source})
        return 0
    schema = definition["input_schema"]
    sections = {
        definition["name"]: [definition["description"] or "(without a description)"],
        "parameters": aligned(list(parameters(schema, schema)) or [["none"]]),
        "properties": _properties(tool),
        "origin": [f"{key:<14}{value}" for key, value in source.items() if value],
        "example": [f"ask-tools call {options.name}{_example(schema)}"],
    }
    write("\n\n".join(title + "\n" + indent("\n".join(lines), "  ") for title, lines in sections.items() if lines))
    return 0


def _properties(tool: Tool) -> list[str]:
    """Return what a caller should know before a call."""
    found = [f"{'' if value else 'not '}{hint.replace('_', '-')}" for hint, value in tool.annotations.items()]
    if tool.requires_approval:
        found.append("requires approval")
    if tool.timeout is not None:
        found.append(f"time limit {tool.timeout:g} s")
    if not tool.repair:
        found.append("arguments are not repaired")
    if tool.tags:
        found.append(f"tags {', '.join(map(one_line, tool.tags))}")
    return found


def _example(schema: dict[str, Any]) -> str:
    """Return the required arguments, each with a choice or a placeholder."""
    words: list[str] = []
    for name in schema.get("required", ()):
        member = schema["properties"].get(name)
        texts = [choice for choice in choices(member, schema) if isinstance(choice, str)]
        kind = type_text(member, schema)
        sample = texts[0] if texts else kind.upper() if kind.isidentifier() else "VALUE"
        words.append(f" {one_line(name)}={sample}")
    return "".join(words)
