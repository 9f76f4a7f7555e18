"""`ask-tools show` and `schema`: the definitions of tools, for people and for providers."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from inspect import unwrap
from shlex import quote
from textwrap import indent
from typing import Any

from tools_core._cli._output import CommandError, aligned, json_text, one_line, write, write_json
from tools_core._cli._schema_text import choices, parameters, type_text
from tools_core._cli._tools import PATTERN_HELP, Match, find_tools, load_matches
from tools_core._tools._tool import Tool
from tools_core.formats import FORMATS

_SHOW = """\
examples:
  ask-tools show get_weather
  ask-tools show ./weather.py --json
"""
_SCHEMA = """\
Prints an object for one tool; a list, for the `tools` of a request, for several tools and for --all. Names that a
provider does not accept are rewritten; `calls` of tools_core.formats restores them.

examples:
  ask-tools schema get_weather --for openai-strict
  ask-tools schema --all --for anthropic > tools.json
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `show`."""
    parser.epilog = _SHOW
    parser.add_argument("patterns", metavar="TOOL", nargs="+", help=PATTERN_HELP)
    text = "print the definition and the origin as JSON; a list for several tools"
    parser.add_argument("--json", action="store_true", help=text)
    parser.set_defaults(run=_show, intermixed=True)


def configure_schema(parser: ArgumentParser) -> None:
    """Add the arguments of `schema`."""
    parser.epilog = _SCHEMA
    parser.add_argument("patterns", metavar="TOOL", nargs="*", default=[], help=PATTERN_HELP)
    parser.add_argument("--all", action="store_true", help="every installed tool")
    text = f"the format of a provider: {', '.join(FORMATS)}"
    parser.add_argument("--for", dest="format", metavar="FORMAT", choices=list(FORMATS), help=text)
    parser.set_defaults(run=_schema, intermixed=True)


def _show(options: Namespace) -> int:
    matches = find_tools(options.patterns)
    tools = load_matches(matches)
    if options.json:
        facts = []
        for match, tool in tools:
            more = {"examples": [*tool.examples], "deferred": tool.deferred, "verify": tool.verify}
            facts.append({**tool.definition, **more, "origin": _origin(match, tool)})
        write_json(facts if len(matches) > 1 else facts[0])
    else:
        write("\n\n".join(_text(match, tool) for match, tool in tools))
    return 0 if len(tools) == len(matches) else 1


def _schema(options: Namespace) -> int:
    if options.all == bool(options.patterns):
        raise CommandError("name tools, or use --all", "ask-tools schema --help")
    matches = find_tools(None if options.all else options.patterns)
    tools = load_matches(matches, optional=options.all)
    # Two tools may share their own name, but not the one in the registry.
    definitions = [{**tool.definition, "name": match.name if match.origin else tool.name} for match, tool in tools]
    if options.format is not None:
        definitions = FORMATS[options.format].definitions(definitions)
    write_json(definitions if options.all or len(matches) > 1 else definitions[0])
    return 0 if len(tools) == len(matches) else 1


def _text(match: Match, tool: Tool) -> str:
    definition = tool.definition
    schema = definition["input_schema"]
    sections = {
        definition["name"]: [definition["description"] or "(without a description)"],
        "parameters": aligned(list(parameters(schema, schema)) or [["none"]]),
        "properties": _properties(tool),
        "origin": [f"{key:<14}{value}" for key, value in _origin(match, tool).items() if value],
        "examples": _examples(match, tool),
    }
    return "\n\n".join(title + "\n" + indent("\n".join(lines), "  ") for title, lines in sections.items() if lines)


def _origin(match: Match, tool: Tool) -> dict[str, Any]:
    """Return package and version of an installed tool, and file and line of its code if it is Python code."""
    facts: dict[str, Any] = {}
    if (point := match.origin) is not None:
        facts = {"distribution": point.distribution, "version": point.version, "entry_point": point.value}
        if not point.module:  # the tool of a source, such as an MCP server
            return facts
    function = unwrap(getattr(tool, "__wrapped__", None) or type(tool).execute)
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is not None:
        facts |= {"file": code.co_filename, "line": code.co_firstlineno}
    return facts


def _properties(tool: Tool) -> list[str]:
    """Return what a caller should know before a call."""
    hints = [f"{'' if value else 'not '}{hint.replace('_', '-')}" for hint, value in tool.annotations.items()]
    properties = {
        "requires approval": tool.requires_approval,
        f"time limit {tool.timeout or 0:g} s": tool.timeout is not None,
        "arguments are not repaired": not tool.repair,
        "deferred: a model finds it by search": tool.deferred,
        f"verified by {one_line(tool.verify or '')}": tool.verify is not None,
        f"tags {', '.join(map(one_line, tool.tags))}": bool(tool.tags),
    }
    return [*hints, *(text for text, applies in properties.items() if applies)]


def _examples(match: Match, tool: Tool) -> list[str]:
    """Return commands with the examples of the tool, or with placeholders for its required arguments."""
    call = f"ask-tools call {match.name}"
    if tool.examples:
        return [f"{call} {quote(one_line(json_text(arguments, pretty=False)))}" for arguments in tool.examples]
    schema = tool.definition["input_schema"]
    words = [call]
    for name in schema.get("required", ()):
        member = schema["properties"].get(name)
        texts = [choice for choice in choices(member, schema) if isinstance(choice, str)]
        kind = type_text(member, schema)
        sample = texts[0] if texts else kind.upper() if kind.isidentifier() else "VALUE"
        words.append(f"{one_line(name)}={sample}")
    return [" ".join(words)]
