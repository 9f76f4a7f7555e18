"""`ask-tools __complete -- WORDS...`: what may stand in the place of the last word, for completion scripts.

One candidate per line, with a description after a tab.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tools_core._cli._schema_text import choices, parameters, schema_at, split_key
from tools_core._cli._subcommands import BUILT_IN, external, make_parser
from tools_core._cli._terminal import CommandError, json_text, one_line

if TYPE_CHECKING:
    from argparse import Action
    from collections.abc import Iterable, Iterator, Mapping

Candidate = tuple[str, str]


def complete(words: list[str]) -> int:
    """Print the candidates for the last of `words`; whatever goes wrong, there are just none."""
    *before, current = words or [""]
    try:
        for text, about in _candidates(before, current):
            # A script reads one candidate per line, and a shell shows it to a person.
            if text.startswith(current) and text.isprintable():
                sys.stdout.write(f"{text}\t{one_line(about)}\n")
    except CommandError:
        pass
    return 0


def _candidates(before: list[str], current: str) -> Iterable[Candidate]:
    if not before:
        return _commands()
    command, *given = before
    options: Mapping[str, Action] = {}
    if any(word.startswith("-") for word in [*given, current]):
        options = make_parser(command)._option_string_actions  # brings argparse: 3 ms that names alone need not pay
    if given and _takes_value(given[-1], options):
        return _values(given[-1], options[given[-1]])
    if current.startswith("-"):
        return _options(options)
    given = [
        word
        for number, word in enumerate(given)
        if not word.startswith("-") and not (number and _takes_value(given[number - 1], options))
    ]
    return _words(command, given, current)


def _words(command: str, given: list[str], current: str) -> Iterable[Candidate]:
    """What may stand where no option is begun."""
    if command == "completion":
        return [(shell, "") for shell in ("bash", "zsh", "fish")]
    if command == "call" and given:
        return _parameters(given[0], given[1:], current)
    if command in _MANY or (command in ("call", "show") and not given):
        return _tools(qualified=":" in current)
    return _commands() if command == "help" and not given else ()


_MANY = ("check", "list", "schema")  # these take any number of tools


def _takes_value(word: str, options: Mapping[str, Action]) -> bool:
    return word in options and options[word].nargs != 0


def _values(option: str, action: Action) -> Iterable[Candidate]:
    """The choices of an option; where it has none, a shell proposes the names of files."""
    if option == "--package":
        from tools_core._registry._entry_points import scan  # 7 ms

        return [(name, "") for name in dict.fromkeys(point.distribution for point in scan("ask_tools.tools"))]
    return [(str(choice), "") for choice in action.choices or ()]


def _commands() -> Iterator[Candidate]:
    for name, (_, summary) in BUILT_IN.items():
        yield name, summary
    for entry in external():
        yield entry.name, f"from {entry.distribution}"


def _options(options: Mapping[str, Action]) -> Iterator[Candidate]:
    for option, action in options.items():
        if option.startswith("--") and option != "--help":
            yield option, action.help or ""


def _tools(*, qualified: bool) -> Iterator[Candidate]:
    from tools_core._cli._installed import discovered, listing  # 8 ms that sub-commands need not pay

    for tool in listing(discovered()):
        name = tool["name"]
        is_bare = qualified and ":" not in name
        yield f"{tool['distribution']}:{name}" if is_bare else name, tool["summary"]


def _parameters(name: str, given: list[str], current: str) -> Iterator[Candidate]:
    """The parameters of one tool that are still open, or the choices of the one being written."""
    from tools_core._cli._installed import installed_tool  # loads that one tool

    tool, _ = installed_tool(name)
    root = tool.definition["input_schema"]
    key, equals, _ = current.partition("=")
    if equals:
        schema = schema_at(split_key(key, root, root), root)
        for choice in choices(schema, root):
            yield f"{key}={choice if isinstance(choice, str) else json_text(choice, pretty=False)}", ""
        return
    taken = {word.partition("=")[0].rstrip(":") for word in given}
    for parameter, kind, needed, about in parameters(root, root):
        if parameter not in taken or "array" in kind:
            yield f"{parameter}=", about or f"{kind}, {needed}"
