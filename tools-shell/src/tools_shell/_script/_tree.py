"""The same script as tree-sitter reads it: what it consists of, and where each command stands."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

from tools_shell._script._tokens import Unreadable

if TYPE_CHECKING:
    import tree_sitter

    from tools_shell._script._parts import Place

_COMMANDS = frozenset(
    ("command", "declaration_command", "test_command", "unset_command", "variable_assignment", "variable_assignments")
)
_SUBSTITUTIONS = frozenset(("command_substitution", "process_substitution"))
_PLACES: dict[str, Place] = {
    "command_substitution": "substitution",
    "function_definition": "function",
    "pipeline": "pipeline",
    "process_substitution": "substitution",
    "subshell": "subshell",
}


class Outline(NamedTuple):
    """Where things begin and end, in bytes."""

    commands: dict[int, tuple[Place, ...]]
    headers: dict[int, tuple[str, tuple[Place, ...]]]  # where a loop, a `case` or a pattern of one begins
    functions: set[int]
    substitutions: set[tuple[int, int]]
    comments: set[tuple[int, int]]
    here_documents: set[tuple[int, int]]


def outline(data: bytes) -> Outline:
    """Parse `data`; raises `Unreadable` for what has no clear structure."""
    import tree_sitter  # optional: the extra `parser`

    root = tree_sitter.Parser(_language()).parse(data).root_node  # a parser serves one thread at a time
    if root.has_error:
        raise Unreadable("it has no clear structure: a syntax error, or a rare construct")
    found = Outline({}, {}, set(), set(), set(), set())
    waiting: list[tuple[tree_sitter.Node, tuple[Place, ...], bool]] = [(root, (), False)]
    while waiting:
        node, places, inside = waiting.pop()
        _note(node, places, found, inside=inside)
        if place := _PLACES.get(node.type):
            places = (*places, place)
        # What is assigned in front of a command, or by `export`, is a part of that command.
        inside = node.type in _COMMANDS or (inside and node.type not in _SUBSTITUTIONS)
        children = node.children
        for child, behind in zip(children, [*children[1:], None], strict=False):
            is_background = behind is not None and behind.type == "&"
            waiting.append((child, (*places, "background") if is_background else places, inside))
    return found


@functools.cache
def _language() -> tree_sitter.Language:
    import tree_sitter  # optional: the extra `parser`
    import tree_sitter_bash

    return tree_sitter.Language(tree_sitter_bash.language())


def _note(node: tree_sitter.Node, places: tuple[Place, ...], found: Outline, *, inside: bool) -> None:
    kind, start, end = node.type, node.start_byte, node.end_byte
    is_alone = kind == "redirected_statement" and node.child_by_field_name("body") is None
    if (kind in _COMMANDS or is_alone) and not inside:
        found.commands[start] = places
    elif kind in _SUBSTITUTIONS:
        found.substitutions.add((start, end))
    elif kind == "comment":
        found.comments.add((start, end))
    elif kind == "heredoc_end":
        found.here_documents.add((start, end))
    elif kind == "function_definition":
        found.functions.add(start)
    elif kind in ("for_statement", "case_statement", "case_item"):
        found.headers[start] = kind, places
