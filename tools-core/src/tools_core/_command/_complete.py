"""`ask-tools __complete -- WORDS...`: what may stand in the place of the last word, for completion scripts.

One candidate per line, with a description after a tab.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from tools_core._command._schema_text import choices, parameters, schema_at, split_key
from tools_core._command._subcommands import BUILT_IN, external, make_parser
from tools_core._command._terminal import CommandError, json_text, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_TAKES_VALUE = ("--args", "--workspace", "--timeout", "--dir", "--description", "--author")

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
    if given and given[-1] in _TAKES_VALUE:
        return ()
    if current.startswith("-"):
        return _options(command)
    given = [word for i, word in enumerate(given) if not (word.startswith("-") or (i and given[i - 1] in _TAKES_VALUE))]
    if command == "completion":
        return [(shell, "") for shell in ("bash", "zsh", "fish")]
    if command == "call" and given:
        return _parameters(given[0], given[1:], current)
    if command == "list" or (command in ("call", "show") and not given):
        return _tools(qualified=":" in current)
    return _commands() if command == "help" and not given else ()


def _commands() -> Iterator[Candidate]:
    for name, (_, summary) in BUILT_IN.items():
        yield name, summary
    for entry in external():
        yield entry.name, f"from {entry.distribution}"


def _options(command: str) -> Iterator[Candidate]:
    for option in dict.fromkeys(re.findall(r"--[a-z][a-z-]*", make_parser(command).format_usage())):
        yield option, ""


def _tools(*, qualified: bool) -> Iterator[Candidate]:
    from tools_core._command._installed import discovered, listing  # 8 ms that sub-commands need not pay

    for tool in listing(discovered()):
        name = tool["name"]
        is_bare = qualified and ":" not in name
        yield f"{tool['distribution']}:{name}" if is_bare else name, tool["summary"]


def _parameters(name: str, given: list[str], current: str) -> Iterator[Candidate]:
    """The parameters of one tool that are still open, or the choices of the one being written."""
    from tools_core._command._installed import installed_tool  # loads that one tool

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
