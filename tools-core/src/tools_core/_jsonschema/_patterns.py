"""Patterns as finite automata, so that a search takes time linear in the text.

The engine of `re` backtracks: `^(a+)+$` takes 2**n steps for n letters, and it holds the lock of the interpreter. The
patterns of a schema and the text that they check come from different strangers, so neither bounds the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

# The parser of `re` is internal, but the same in every supported version: with it, both read a pattern alike.
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

Search = Callable[[str], bool]
_Assertion = Callable[[str], Callable[[int], bool]]  # of a text: whether it holds at a position

# The tokens of an ECMA-262 pattern that `re` writes differently, and any other character.
_TOKENS = r"\\u\{[0-9a-fA-F]{1,6}\}|\\k<\w+>|\\.|\(\?<(?![=!])|."

_MAX_NODES = 20_000
_MAX_STEPS = 50_000  # that an automaton remembers

_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_CLASSES = {"DIGIT": frozenset("0123456789"), "SPACE": frozenset(" \t\n\r\f\v"), "WORD": _WORD}
_ACCEPT = 0  # the node that ends each match


@lru_cache(maxsize=256)
def search_of(pattern: str) -> Search:
    r"""Return a function that searches a text for an ECMA-262 pattern; ValueError if it cannot be enforced.

    \d, \w and \b have the meaning that ECMA-262 gives them.
    """
    try:
        tree = _parser.parse(_rewrite(pattern), re.ASCII)
        automaton = _Automaton(tree, tree.state.flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{error}") from None
    return lambda text: any(automaton.run(text))


def _rewrite(pattern: str) -> str:
    out: list[str] = []
    in_class = False
    for part in re.findall(_TOKENS, pattern, re.DOTALL):
        if part.startswith("\\u{"):
            out.append(re.escape(chr(int(part[3:-1], 16))))
        elif in_class:
            in_class = part != "]"
            out.append(f"\\{part}" if part in "[&|~" else part)  # `re` warns that these may get a meaning
        elif part == "$":
            out.append(r"\Z")  # `$` also matches before a last newline
        elif part == "(?<":
            out.append("(?P<")
        elif part.startswith("\\k<"):
            out.append(f"(?P={part[3:-1]})")
        else:
            in_class = part == "["
            out.append(part)
    return "".join(out)


class _State(dict[Any, "tuple[bool, _State]"]):
    """The nodes that a search may be in. Its items are the steps by a character and the assertions that hold.

    A step says whether a match ends before the character, and leads to the next state.
    """

    def __init__(self, automaton: _Automaton, nodes: frozenset[int]) -> None:
        self.automaton = automaton
        self.nodes = nodes

    def __missing__(self, key: str | tuple[str, tuple[bool, ...]]) -> tuple[bool, _State]:
        step = self[key] = self.automaton.step(self.nodes, key)
        return step


class _Automaton:
    """A nondeterministic automaton, made deterministic state by state while it runs."""

    def __init__(self, tree: Iterable[Any], flags: int, *, is_backward: bool = False) -> None:
        if flags & re.MULTILINE:
            raise ValueError("the flag m is not supported")
        self.is_backward = is_backward
        # Nodes with a test consume a character; others have an assertion, or lead to several nodes.
        self.nodes: list[tuple[Search | int | None, list[int]]] = [(None, [])]
        self.assertions: list[_Assertion] = []
        self.has_local_assertions = False  # that can hold between the ends of a text
        self.start = self.sequence(tree, _ACCEPT, flags)
        self.states: dict[frozenset[int], _State] = {}
        self.steps = 0

    def run(self, text: str) -> Iterator[bool]:
        """Yield for each position whether a match ends there; backward from the end, whether one begins there."""
        holds = [assertion(text) for assertion in self.assertions]
        end = len(text)
        first, last, back = (end, 0, 1) if self.is_backward else (0, end, 0)
        state = self.state(frozenset())
        for position in range(first, last + 1 - 2 * back, 1 - 2 * back):
            character = text[position - back] if position != last else ""
            if self.has_local_assertions or position in (first, last):
                accepts, state = state[character, tuple([check(position) for check in holds])]
            else:
                accepts, state = state[character]
            yield accepts

    def state(self, nodes: frozenset[int]) -> _State:
        if nodes not in self.states:
            self.states[nodes] = _State(self, nodes)
        return self.states[nodes]

    def step(self, nodes: frozenset[int], key: str | tuple[str, tuple[bool, ...]]) -> tuple[bool, _State]:
        """Follow a character from all nodes, and from the start, since a match can begin anywhere."""
        if self.steps >= _MAX_STEPS:
            self.states, self.steps = {}, 0
        self.steps += 1
        character, holds = key if isinstance(key, tuple) else (key, (False,) * len(self.assertions))
        accepts, following = False, set[int]()
        visited, waiting = {self.start, *nodes}, [self.start, *nodes]
        while waiting:
            node = waiting.pop()
            test, targets = self.nodes[node]
            accepts = accepts or node == _ACCEPT
            if callable(test):
                if character and test(character):
                    following.update(targets)
            elif test is None or holds[test]:
                waiting += [target for target in targets if target not in visited]
                visited.update(targets)
        return accepts, self.state(frozenset(following))

    def add(self, test: Search | int | None, targets: list[int]) -> int:
        if len(self.nodes) >= _MAX_NODES:
            raise ValueError("it repeats too much")
        self.nodes.append((test, targets))
        return len(self.nodes) - 1

    def sequence(self, items: Iterable[Any], then: int, flags: int) -> int:
        """Add the nodes of a part that leads to the node `then`, and return its first node."""
        for operator, argument in items if self.is_backward else reversed(list(items)):
            then = self.item(str(operator), argument, then, flags)
        return then

    def item(self, operator: str, argument: Any, then: int, flags: int) -> int:
        if operator in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
            return self.add(_test(operator, argument, flags), [then])
        if operator == "BRANCH":
            return self.add(None, [self.sequence(branch, then, flags) for branch in argument[1]])
        if operator == "SUBPATTERN":
            _, added, removed, items = argument
            return self.sequence(items, then, (flags | added) & ~removed)
        if operator in ("MAX_REPEAT", "MIN_REPEAT"):
            least, most, items = argument
            return self.repeat(least, most, list(items), then, flags)
        if operator in ("AT", "ASSERT", "ASSERT_NOT"):
            self.assertions.append(self.assertion(operator, argument, flags))
            return self.add(len(self.assertions) - 1, [then])
        raise ValueError("back references, conditions and atomic groups are not supported")

    def repeat(self, least: int, most: int, items: list[Any], then: int, flags: int) -> int:
        if most == _constants.MAXREPEAT:
            targets = [then]
            then = self.add(None, targets)
            targets.append(self.sequence(items, then, flags))
        else:
            end = then
            for _ in range(most - least):
                then = self.add(None, [self.sequence(items, then, flags), end])
        for _ in range(least):
            repeated = self.sequence(items, then, flags)
            if repeated == then:  # it is empty
                break
            then = repeated
        return then

    def assertion(self, operator: str, argument: Any, flags: int) -> _Assertion:
        kind = str(argument).removeprefix("AT_")
        if kind in ("BEGINNING", "BEGINNING_STRING"):
            return lambda _: lambda position: position == 0
        if kind == "END_STRING":
            return lambda text: lambda position: position == len(text)
        self.has_local_assertions = True
        if operator == "AT":
            return lambda text: lambda position: _is_boundary(text, position) == (kind == "BOUNDARY")
        direction, items = argument
        return _look_around(_Automaton(items, flags, is_backward=direction > 0), is_negative=operator == "ASSERT_NOT")


def _look_around(automaton: _Automaton, *, is_negative: bool) -> _Assertion:
    def assertion(text: str) -> Callable[[int], bool]:
        matches = list(automaton.run(text))
        if automaton.is_backward:
            matches.reverse()
        return lambda position: matches[position] != is_negative

    return assertion


def _is_boundary(text: str, position: int) -> bool:
    before, after = text[max(position - 1, 0) : position], text[position : position + 1]
    return (before in _WORD) != (after in _WORD)


def _test(operator: str, argument: Any, flags: int) -> Search:
    """Return whether a character matches a literal, `.` or a class."""
    if operator == "ANY":
        return lambda character: character != "\n" or bool(flags & re.DOTALL)
    members = argument if operator == "IN" else [(operator.removeprefix("NOT_"), argument)]
    tests = [_member(str(kind), value) for kind, value in members]
    is_negated = operator == "NOT_LITERAL" or str(members[0][0]) == "NEGATE"

    def test(character: str) -> bool:
        cases = {character, character.swapcase()} if flags & re.IGNORECASE and character.isascii() else {character}
        return any(test(case) for test in tests for case in cases) != is_negated

    return test


def _member(kind: str, value: Any) -> Search:
    if kind == "LITERAL":
        return chr(value).__eq__
    if kind == "RANGE":
        return lambda character: value[0] <= ord(character) <= value[1]
    if kind == "CATEGORY":
        _, is_not, name = str(value).removeprefix("CATEGORY_").rpartition("NOT_")
        return lambda character: (character in _CLASSES[name]) != bool(is_not)
    return lambda _: False  # NEGATE
