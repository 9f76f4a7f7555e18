r"""Text that an ECMA-262 regular expression matches.

What only looks around (`(?=...)`, `\b`) is left to whoever tries the text: it says no where it does not hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_testing._values._choices import Choices

_DIGITS = "0123456789"
_LOWER = "abcdefghijklmnopqrstuvwxyz"
_WORD = _LOWER + _LOWER.upper() + _DIGITS + "_"
_SPACE = " \t\n\u00a0"
_ANY = [*_WORD, *" !\"#$%&'()*+,-./:;<=>?@[\\]^`{|}~", "é", "ß", "Ω", "日", "🙂", "\t"]
_SETS = {
    "d": [*_DIGITS],
    "D": [char for char in _ANY if char not in _DIGITS],
    "w": [*_WORD],
    "W": [char for char in _ANY if char not in _WORD],
    "s": [*_SPACE],
    "S": [char for char in _ANY if char not in _SPACE],
}
_CONTROLS = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "0": "\0"}
_LIMIT = 60  # more repetitions than these are written only where the pattern demands them


class _Reader:
    """One pattern, read and written out at once: each alternative and each repetition is a choice."""

    def __init__(self, pattern: str, choices: Choices, reach: int) -> None:
        self.pattern = pattern
        self.choices = choices
        self.reach = reach

    def tree(self) -> Any:
        node, at = self.alternatives(0)
        if at < len(self.pattern):
            raise ValueError(f"the pattern {self.pattern!r} has a ) too many")
        return node

    def alternatives(self, at: int) -> tuple[Any, int]:
        branches: list[list[Any]] = [[]]
        while at < len(self.pattern) and self.pattern[at] != ")":
            if self.pattern[at] == "|":
                branches.append([])
                at += 1
                continue
            node, at = self.atom(at)
            node, at = self.repeated(node, at)
            branches[-1].append(node)
        return ("either", branches), at

    def repeated(self, node: Any, at: int) -> tuple[Any, int]:
        found = self.pattern[at : at + 1]
        bounds: tuple[int, int | None] | None = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(found)
        end = at + 1
        if found == "{":
            end = self.pattern.find("}", at) + 1
            low, comma, high = self.pattern[at + 1 : end - 1].partition(",")
            bounds = (int(low), int(high) if high else None if comma else int(low))
        if bounds is None:
            return node, at
        return ("repeat", bounds, node), end + (self.pattern[end : end + 1] == "?")

    def atom(self, at: int) -> tuple[Any, int]:
        char = self.pattern[at]
        if char == "(":
            return self.group(at)
        if char == "[":
            return self.char_class(at + 1)
        if char == "\\":
            return self.escape(at + 1)
        if char == ".":
            return ("one", [char for char in _ANY if char != "\n"]), at + 1
        if char in "^$":
            return ("text", ""), at + 1
        return ("text", char), at + 1

    def group(self, at: int) -> tuple[Any, int]:
        name: str | None = None
        looks_around = False
        inside = at + 1
        if self.pattern.startswith("(?", at):
            mark = self.pattern[at + 2 : at + 4]
            looks_around = mark[:1] in ("=", "!") or mark in ("<=", "<!")
            if looks_around or mark[:1] == ":":
                inside = at + 3 + (mark[0] == "<")
            else:
                inside = self.pattern.index(">", at) + 1
                name = self.pattern[at + 3 : inside - 1]
        body, end = self.alternatives(inside)
        captures = not looks_around and not self.pattern.startswith("(?:", at)
        node = ("text", "") if looks_around else ("group", name, body) if captures else body
        return node, end + 1

    def escape(self, at: int) -> tuple[Any, int]:
        char = self.pattern[at]
        if char in _SETS:
            return ("one", _SETS[char]), at + 1
        if char in "bB":
            return ("text", ""), at + 1
        if char == "k":
            end = self.pattern.index(">", at)
            return ("again", self.pattern[at + 2 : end]), end + 1
        if char in "123456789":
            end = at
            while self.pattern[end : end + 1].isdigit():
                end += 1
            return ("again", int(self.pattern[at:end])), end
        literal, end = self.literal(at)
        return ("text", literal), end

    def literal(self, at: int) -> tuple[str, int]:
        """The character of the escape whose letter is at `at`."""
        char = self.pattern[at]
        if self.pattern.startswith("u{", at):
            end = self.pattern.index("}", at)
            return chr(int(self.pattern[at + 2 : end], 16)), end + 1
        if char in "ux":
            end = at + (5 if char == "u" else 3)
            unit = int(self.pattern[at + 1 : end], 16)
            if 0xD800 <= unit < 0xDC00 and self.pattern[end : end + 2] == "\\u":
                low = int(self.pattern[end + 2 : end + 6], 16)
                return chr(0x10000 + ((unit - 0xD800) << 10) + low - 0xDC00), end + 6
            return chr(unit), end
        if char == "c":
            return chr(ord(self.pattern[at + 1]) % 32), at + 2
        return _CONTROLS.get(char, char), at + 1

    def char_class(self, at: int) -> tuple[Any, int]:
        negated = self.pattern.startswith("^", at)
        at += negated
        members: list[str] = []
        while self.pattern[at] != "]":
            found, at = self.member(at)
            is_range = len(found) == 1 and self.pattern[at] == "-" and self.pattern[at + 1] != "]"
            if is_range:
                last, after = self.member(at + 1)
                if len(last) == 1:
                    found, at = _between(found[0], last[0]), after
            members += found
        kept = [char for char in _ANY if char not in members] if negated else members
        if negated and not kept:
            kept = [chr(code) for code in range(0x4E00, 0x4E20) if chr(code) not in members]
        return ("one", kept), at + 1

    def member(self, at: int) -> tuple[Sequence[str], int]:
        if self.pattern[at] != "\\":
            return [self.pattern[at]], at + 1
        if self.pattern[at + 1] in _SETS:
            return _SETS[self.pattern[at + 1]], at + 2
        if self.pattern[at + 1] == "b":
            return ["\b"], at + 2
        char, end = self.literal(at + 1)
        return [char], end


def _between(first: str, last: str) -> list[str]:
    """The characters of a range; of a long one, both ends and some in between."""
    codes = range(ord(first), ord(last) + 1)
    step = max(1, len(codes) // 200)
    chosen = [*codes[::step], *codes[-1:]]
    return [chr(code) for code in chosen if not 0xD800 <= code < 0xE000]


def matching(pattern: str, choices: Choices, reach: int = 5) -> str:
    """Make a text that the pattern matches, but for what looks around; `reach` is how far `*` and `+` go."""
    tree = _Reader(pattern, choices, reach).tree()
    groups: list[str] = []
    named: dict[str, str] = {}

    def write(node: Any) -> str:
        kind = node[0]
        if kind == "text":
            return str(node[1])
        if kind == "one":
            if not node[1]:
                raise ValueError(f"the pattern {pattern!r} asks for a character that is none")
            char: str = choices.pick(node[1])
            return char
        if kind == "either":
            return "".join(map(write, choices.pick(node[1])))
        if kind == "repeat":
            low, high = node[1]
            most = max(low, min(high if high is not None else low + reach, max(low, _LIMIT, reach)))
            return "".join(write(node[2]) for _ in range(choices.integer(low, most)))
        if kind == "group":
            place = len(groups)
            groups.append("")
            groups[place] = write(node[2])
            if node[1] is not None:
                named[node[1]] = groups[place]
            return groups[place]
        # A group that took no part yet matches the empty string.
        return named.get(node[1], "") if isinstance(node[1], str) else "".join(groups[node[1] - 1 : node[1]])

    return write(tree)
