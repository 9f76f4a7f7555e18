"""`ask-tools __complete -- WORDS...`: candidates for the last word, for completion scripts.

One candidate per line, with a description after a tab.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tools_core._cli._commands import BUILT_IN, external, make_parser
from tools_core._cli._schema_text import choices, parameters, schema_at, split_key
from tools_core._cli._terminal import CommandError, json_text, one_line

if TYPE_CHECKING:
    from argparse import Action
    from collections.abc import Iterable, Iterator, Mapping

Candidate = tuple[str, str]


def complete(words: list[str]) -> int:
    """Print the candidates for the last of `words`; none if there is an error."""
    *before, current = words or [""]
    try:
        for text, about in _candidates(before, current):
            # A script reads one candidate per line, and a shell shows it.
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
        options = make_parser(command)._option_string_actions  # not needed for names
    if given and _takes_value(given[-1], options):
        # Without choices, a shell proposes the names of files.
        return [(str(choice), "") for choice in options[given[-1]].choices or ()]
    if current.startswith("-"):
        return _options(options)
    given = [
        word
        for number, word in enumerate(given)
        if not word.startswith("-") and not (number and _takes_value(given[number - 1], options))
    ]
    return _words(command, given, current)


def _words(command: str, given: list[str], current: str) -> Iterable[Candidate]:
    """Return candidates where no option begins."""
    if command == "completion":
        return [(shell, "") for shell in ("bash", "zsh", "fish")]
    if command == "call" and given:
        return _parameters(given[0], given[1:], current)
    if command in _TAKES_TOOLS or (command in ("call", "show") and not given):
        return _tools(qualified=":" in current)
    return _commands() if command == "help" and not given else ()


_TAKES_TOOLS = ("check", "list", "schema")


def _takes_value(word: str, options: Mapping[str, Action]) -> bool:
    return word in options and options[word].nargs != 0


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
    from tools_core._cli._descriptions import describe  # as above
    from tools_core._cli._installed import discovered

    registry = discovered()
    descriptions, _ = describe(registry, load=False)
    for name in registry:
        point = registry.origin(name)
        is_bare = qualified and ":" not in name and point is not None
        yield f"{point.distribution}:{name}" if point and is_bare else name, descriptions.get(name, "")


def _parameters(name: str, given: list[str], current: str) -> Iterator[Candidate]:
    """Yield the parameters of a tool that are not given yet, or the choices for the one that is being written."""
    from tools_core._cli._installed import load  # as above

    root = load(name).definition["input_schema"]
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
