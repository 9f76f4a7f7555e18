"""`ask-tools schema`: definitions as JSON, in our own format or in that of a provider."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_core._cli._installed import discovered, load, load_all, note_problems
from tools_core._cli._terminal import CommandError, write_json
from tools_core.formats import FORMATS

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_EPILOG = """\
One tool prints an object; --all and several tools print a list, for the `tools` of a request. Names that a provider
does not accept are rewritten; `calls` of tools_core.formats restores them.

examples:
  ask-tools schema get_weather
  ask-tools schema get_weather --for openai-strict
  ask-tools schema --all --for anthropic > tools.json
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `schema`."""
    parser.epilog = _EPILOG
    parser.add_argument("names", metavar="TOOL", nargs="*", help="NAME, DISTRIBUTION:NAME or FILE.py:NAME")
    parser.add_argument("--all", action="store_true", help="every installed tool")
    text = f"the format of a provider: {', '.join(FORMATS)}"
    parser.add_argument("--for", dest="format", metavar="FORMAT", choices=list(FORMATS), help=text)
    parser.set_defaults(run=run, intermixed=True)


def run(options: Namespace) -> int:
    """Print the definitions; 1 if a tool cannot be loaded."""
    if options.all == bool(options.names):
        raise CommandError("name tools, or use --all", "ask-tools schema --help")
    registry = discovered()
    tools = load_all(registry) if options.all else {name: load(name, registry) for name in options.names}
    # Two tools may share their own name, never the one that the registry lists them by.
    given = [{**tool.definition, "name": tool.name if ".py" in name else name} for name, tool in tools.items()]
    if options.format is not None:
        given = FORMATS[options.format].definitions(given)
    write_json(given if options.all or len(given) > 1 else given[0])
    if not options.all:
        return 0
    note_problems(registry)
    return 1 if registry.problems else 0
