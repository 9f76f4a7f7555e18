"""Glob patterns over whole paths: `*`, `?`, `[...]`, `{a,b}` and `**`, matched while folders are walked.

All alternatives become one tree of segments; a walk carries the set of places in it that its folder has reached. So
no folder is looked at that no pattern leads to, and `**/**/**` costs no more than `**`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_filesystem._search._segment import Segment, matcher, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools_filesystem._search._segment import Matcher

LONGEST = 4096  # characters of a pattern
MOST_ALTERNATIVES = 256
_MOST_BRACES = 50


def expanded(pattern: str) -> list[str]:
    """The patterns that braces stand for, in order and each once; ToolError when they are too many."""
    if len(pattern) > LONGEST:
        raise ToolError(f"the pattern is {len(pattern)} characters long; the most is {LONGEST}", "limit_exceeded")
    if pattern.count("{") > _MOST_BRACES:
        raise ToolError(f"the pattern has more than {_MOST_BRACES} braces; use several calls", "limit_exceeded")
    out: dict[str, None] = {}
    for count, one in enumerate(_expand(pattern)):
        if count == MOST_ALTERNATIVES:
            message = f"the braces stand for more than {MOST_ALTERNATIVES} patterns; use '*', or several calls"
            raise ToolError(message, "limit_exceeded")
        out[one] = None
    return list(out)


def segments_of(pattern: str) -> list[str]:
    """The names of a pattern, without empty ones and dots; ToolError for `..`, which would lead out of the folder."""
    names = [name for name in pattern.split("/") if name not in ("", ".")]
    if ".." in names:
        message = f"the pattern {pattern!r} has '..' in it; pass the folder to start from as path instead"
        raise ToolError(message, "denied")
    return names


class Node:
    """A place between two segments of a pattern."""

    __slots__ = ("deep", "ends_file", "ends_folder", "literal", "loops", "wild")

    def __init__(self, *, loops: bool = False) -> None:
        self.literal: dict[str, Node] = {}
        self.wild: dict[str, tuple[Segment, Matcher, Node]] = {}
        self.deep: Node | None = None  # behind `**`
        self.loops = loops  # any folder leads back here
        self.ends_file = self.ends_folder = False

    def leads_on(self) -> bool:
        """Whether anything below a folder that is here can match, or the folder itself."""
        return bool(self.literal or self.wild or self.deep or self.loops or self.ends_folder)

    def follow(self, name: str) -> Node:
        """The place behind one more segment, which is made if it is new."""
        if name == "**":
            self.deep = self.deep or Node(loops=True)
            return self.deep
        found = parse(name) or Segment((), name)
        if found.text is not None and None not in found.pieces:
            return self.literal.setdefault(found.text, Node())
        return self.wild.setdefault(name, (found, matcher(found), Node()))[2]


class Pattern:
    """One or more glob patterns, relative to the folder that a walk begins in."""

    def __init__(self, patterns: list[str], *, hidden: bool) -> None:
        self.hidden = hidden
        root = Node()
        for pattern in patterns:
            node, names = root, segments_of(pattern)
            if names and names[-1] == "**" and not pattern.endswith("/"):
                names.append("*")  # all files below
            for before, name in zip([None, *names], names, strict=False):
                if not before == name == "**":
                    node = node.follow(name)
            if pattern.endswith("/"):
                node.ends_folder = True
            else:
                node.ends_file = True
        self._states: dict[frozenset[Node], State] = {}
        self.start = self.state({root})

    def state(self, nodes: set[Node]) -> State:
        """The state of these places, and of those that `**` reaches from them by no folder at all."""
        todo = list(nodes)
        while todo:
            deep = todo.pop().deep
            if deep is not None and deep not in nodes:
                nodes.add(deep)
                todo.append(deep)
        key = frozenset(node for node in nodes if node.literal or node.wild or node.loops or node.ends_folder)
        if key not in self._states:
            self._states[key] = State(self, key)
        return self._states[key]


class State:
    """What a folder has reached of the patterns: which of its files match, and what its folders reach."""

    __slots__ = (
        "_below", "_dotted", "_literal", "_loops", "_names", "_others", "_pattern", "_wild", "by_ending",
        "endings", "is_match",
    )  # fmt: skip

    def __init__(self, pattern: Pattern, nodes: frozenset[Node]) -> None:
        self._pattern = pattern
        self.is_match = any(node.ends_folder for node in nodes)
        self._loops = [node for node in nodes if node.loops]
        self._literal = [node.literal for node in nodes if node.literal]
        wild = [arc for node in nodes for arc in node.wild.values()]
        self._wild = [(_is_dotted(segment), match, node) for segment, match, node in wild if node.leads_on()]
        ends = [(segment, match) for segment, match, node in wild if node.ends_file]
        self._names = {name for node in nodes for name, end in node.literal.items() if end.ends_file}
        self._dotted = [match for segment, match in ends if pattern.hidden or _is_dotted(segment)]
        self._others = [match for _, match in ends]
        suffixes = [segment.suffix() for segment, _ in ends]
        plain = tuple(suffix for suffix in suffixes if suffix is not None)
        self.by_ending = not self._names and len(plain) == len(ends)
        self.endings = plain if self.by_ending else ("",)
        # Behind `**` alone all folders are alike, which is the commonest case of all.
        self._below: State | None = None
        if self._loops and not self._literal and not self._wild:
            self._below = self if nodes == frozenset(self._loops) else pattern.state(set(self._loops))

    def takes(self, name: str) -> bool:
        """Whether a file of this name matches."""
        is_hidden = name[0] == "." and not self._pattern.hidden
        if name in self._names:
            return True
        return any(match(name) for match in (self._dotted if is_hidden else self._others))

    def enters(self, name: str) -> State | None:
        """What a folder of this name reaches; None when nothing in it can match."""
        is_hidden = name[0] == "." and not self._pattern.hidden
        if self._below is not None and not is_hidden:
            return self._below
        nodes = {found for literal in self._literal if (found := literal.get(name)) and found.leads_on()}
        nodes.update(node for dotted, match, node in self._wild if (dotted or not is_hidden) and match(name))
        if not is_hidden:
            nodes.update(self._loops)
        return self._pattern.state(nodes) if nodes else None


def _is_dotted(segment: Segment) -> bool:
    """Whether a pattern asks for hidden names itself."""
    return bool(segment.pieces) and (segment.pieces[0] or "").startswith("\\.")


def _expand(pattern: str) -> Iterator[str]:
    """Yield what the first braces stand for, and so on; braces without a comma or an end are text, as in a shell."""
    start = _find(pattern, 0, "{")
    while start >= 0:
        parts, end = _alternatives(pattern, start)
        if parts:
            for part in parts:
                for tail in _expand(part + pattern[end:]):
                    yield pattern[:start] + tail
            return
        start = _find(pattern, start + 1, "{")
    yield pattern


def _alternatives(pattern: str, start: int) -> tuple[list[str], int]:
    """The parts between a brace and its partner, and what is behind that; no parts if it has none, or no comma."""
    depth, cuts, at = 0, [start], start
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            at += 1
        elif char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if not depth:
                cuts.append(at)
                break
        elif char == "," and depth == 1:
            cuts.append(at)
        at += 1
    if depth or len(cuts) < 3:
        return [], 0
    return [pattern[a + 1 : b] for a, b in pairwise(cuts)], cuts[-1] + 1


def _find(pattern: str, at: int, char: str) -> int:
    while at < len(pattern):
        if pattern[at] == char:
            return at
        at += 1 + (pattern[at] == "\\")
    return -1
