"""`ask-tools schema`: definitions as JSON, in our own shape or in that of a provider."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_core._cli._installed import discovered, loaded, loaded_all, tell_problems
from tools_core._cli._terminal import CommandError, write_json
from tools_core.formats import FORMATS

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_EPILOG = """\
One tool gives an object, --all and several a list: what goes into the `tools` of a request. Names that a provider does
not take are rewritten; tools_core.formats finds the way back.

examples:
  ask-tools schema get_weather
  ask-tools schema get_weather --for openai-strict
  ask-tools schema --all --for anthropic > tools.json
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `schema`."""
    parser.epilog = _EPILOG
    parser.add_argument("names", metavar="TOOL", nargs="*", help="the tools, each as NAME or DISTRIBUTION:NAME")
    parser.add_argument("--all", action="store_true", help="every tool that is installed")
    text = f"the provider's shape: {', '.join(FORMATS)}"
    parser.add_argument("--for", dest="format", metavar="FORMAT", choices=list(FORMATS), help=text)
    parser.set_defaults(run=run, intermixed=True)


def run(options: Namespace) -> int:
    """Print the definitions; 1 if a tool does not load."""
    if options.all == bool(options.names):
        raise CommandError("name tools, or say --all", "ask-tools schema --help")
    registry = discovered()
    if options.all:
        given = [{**tool.definition, "name": name} for name, tool in loaded_all(registry).items()]
    else:
        names = dict.fromkeys(options.names)
        given = [{**loaded(registry, name).definition, "name": name} for name in names]
    if options.format is not None:
        given = FORMATS[options.format].definitions(given)
    write_json(given if options.all or len(given) > 1 else given[0])
    if not options.all:
        return 0
    tell_problems(registry)
    return 1 if registry.problems else 0
