r"""ECMA-262 patterns for the engine of `re`, without those that may take exponential time.

`re` tries one way after another: for `^(a+)+$` and n letters 2**n ways, while it holds the lock of the interpreter. The
patterns of a schema and the text that they check come from different strangers. So the parts of a repetition must fit
a text in one way alone, as in `(-[a-z]+)*`, and a pattern with choices has a limit for the text, which bounds the time.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import combinations
from math import inf, prod
from typing import NamedTuple

_STEPS, _MAX_WAYS = 3e7, 1e4  # of the engine, and of a pattern without its repetitions
_SPACES = r"\s\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_NO_CHARACTERS: frozenset[str] = frozenset()
_SAMPLE = "".join(map(chr, range(256))) + "\u0416\u2028\u4e16\ufeff\U0001f600"  # stands for all characters
_token = re.compile(
    r"(?P<set>\[\^?(?:\\.|[^\]\\])*\]|\\(?:u\{[0-9a-fA-F]{1,6}\}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[^bBkpP1-9])|[^\\()|*+?^$])"
    r"|(?P<edge>[$^]|\\[bB])|(?P<open>\((?:\?(?::|<?[=!]|<\w+>))?(?!\?))|(?P<close>\))|(?P<or>\|)",
    re.DOTALL,
).match
_repetition = re.compile(r"(?:([*+?])|\{(\d+)(,?)(\d*)\})\??").match


class _Part(NamedTuple):
    """A part of a pattern: what it consumes, and in how many ways."""

    first: frozenset[str] = _NO_CHARACTERS
    characters: frozenset[str] = _NO_CHARACTERS
    is_needed: bool = False  # consumes a character in any case
    is_fixed: bool = True  # fits a text in one way, because it has no choices
    is_unique: bool = True  # fits a text of known length in one way
    is_clear: bool = False  # repetitions fit a text in one way
    least: float = 0  # characters
    most: float = 0
    ways: float = 1  # of its own parts
    powers: float = 0  # of the length of the text, by repetitions in it
    own_ways: float = 1  # by which it may end, unless another part follows that differs
    own_powers: float = 0


@lru_cache(maxsize=256)
def search_of(pattern: str) -> Callable[[str], bool]:
    r"""Return a function that searches a text for an ECMA-262 pattern; ValueError if it cannot be enforced.

    \d, \w, \s and \b have the meaning that ECMA-262 gives them. A text that is too long for the pattern is refused.
    """
    reader = _Pattern(pattern)
    try:
        part, last = reader.choice()
        if reader.position < len(pattern):
            raise ValueError("unbalanced parenthesis")
        search = re.compile("".join(reader.written), re.ASCII).search
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{error}") from None
    if part.ways > _MAX_WAYS:
        raise ValueError("it has too many ways to fit a text")
    powers = part.powers
    if runs := reader.repetitions - last.own_powers:  # nothing can fail behind the last part
        powers += (runs > powers) + (not pattern.startswith("^"))
    limit = (_STEPS / max(part.ways, 1)) ** (1 / max(powers, reader.powers, 1))
    return lambda text: len(text) <= limit and search(text) is not None


class _Pattern:
    """Reads a pattern, and writes it for `re`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.written: list[str] = []
        self.repetitions = 0  # without an end
        self.powers = 0.0  # of look-arounds, which are searched on their own

    def choice(self) -> tuple[_Part, _Part]:
        """Read branches up to a closing parenthesis; return also the last part."""
        branches: list[list[_Part]] = [[]]
        while (token := _token(self.text, self.position)) and token.lastgroup != "close":
            self.position = token.end()
            if token.lastgroup == "or":
                self.written.append("|")
                branches.append([])
            else:
                branches[-1].append(self.repeated(self.atom(str(token.lastgroup), token[0])))
        if token is None and self.position < len(self.text):
            text = self.text[self.position : self.position + 3]
            raise ValueError(f"{text} is not supported, as back references, flags and classes of Unicode are not")
        parts = [_sequence(branch, is_whole=token is None) for branch in branches]
        return (parts[0] if len(parts) == 1 else _choice(parts)), [_Part(), *branches[-1]][-1]

    def atom(self, kind: str, text: str) -> _Part:
        if kind == "edge":
            self.written.append(r"\Z" if text == "$" else text)  # in `re`, `$` also matches before a last line end
            return _Part()
        if kind == "open":
            self.written.append(text.replace("<", "P<") if text.endswith(">") else text)
            part, _ = self.choice()
            if self.position >= len(self.text):
                raise ValueError("missing )")
            self.position += 1
            self.written.append(")")
            if not text.endswith(("=", "!")):
                return part
            self.powers = max(self.powers, part.powers + 1)
            return _Part(ways=part.ways)
        set_text = _set(text)
        self.written.append(set_text)
        characters = frozenset(re.findall(set_text, _SAMPLE, re.ASCII)) or frozenset(set_text)
        return _Part(characters, characters, is_needed=True, is_clear=True, least=1, most=1)

    def repeated(self, part: _Part) -> _Part:
        """Read the repetition of a part, if there is one."""
        match = _repetition(self.text, self.position)
        if match is None:
            return part
        self.position = match.end()
        self.written.append(match[0])
        sign, least, comma, most = match.groups()
        low = int(least) if least else int(sign == "+")
        high = 1 if sign == "?" else (int(most) if most else inf if comma or sign else low)
        if high == inf and not part.is_clear:
            raise ValueError("it may take exponential time: a repetition may fit the same text in several ways")
        self.repetitions += high == inf
        times = 1 if high == inf else min(high, 40)
        is_fixed = part.is_fixed and low == high
        return part._replace(
            is_needed=part.is_needed and low > 0, is_fixed=is_fixed,
            is_unique=part.is_clear or (part.is_unique and high == 1), is_clear=is_fixed,
            least=part.least * low, most=part.most * high if part.most else 0,
            ways=(part.ways * part.own_ways) ** times, powers=(part.powers + part.own_powers) * times,
            own_ways=1 if high == inf else high - low + 1, own_powers=int(high == inf),
        )  # fmt: skip


def _sequence(parts: list[_Part], *, is_whole: bool) -> _Part:
    """Return the part that consists of others; nothing follows the whole pattern."""
    ways, powers, is_clear = 1.0, 0.0, is_whole
    first = _NO_CHARACTERS  # of what follows, which has all characters unless it `is_clear`
    for part in reversed(parts):
        ends_clearly = is_clear and first.isdisjoint(part.characters)
        ways *= part.ways * (1 if ends_clearly else part.own_ways)
        powers += part.powers + (0 if ends_clearly else part.own_powers)
        first = part.first if part.is_needed else part.first | first
        is_clear = is_clear or part.is_needed
    characters = _NO_CHARACTERS.union(*(part.characters for part in parts))
    open_parts = [part for part in parts if not part.is_fixed]
    is_unique = not open_parts or (len(open_parts) == 1 and open_parts[0].is_unique)
    return _Part(
        first, characters, any(part.is_needed for part in parts), not open_parts, is_unique,
        not open_parts or (is_unique and _is_delimited(parts)), sum(part.least for part in parts),
        sum(part.most for part in parts), ways, powers,
    )  # fmt: skip


def _is_delimited(parts: list[_Part]) -> bool:
    """Return whether the first or the last part has characters that no other one has, so that repetitions are clear."""
    ends = ((parts[0], parts[1:]), (parts[-1], parts[:-1]))
    return any(
        end.is_needed and end.is_fixed and all(end.characters.isdisjoint(part.characters) for part in others)
        for end, others in ends
    )


def _choice(branches: list[_Part]) -> _Part:
    pairs = list(combinations(branches, 2))
    differ = all(a.first.isdisjoint(b.first) for a, b in pairs)
    is_fixed = differ and all(branch.is_fixed and branch.is_needed for branch in branches)
    is_unique = all(branch.is_unique for branch in branches) and all(
        a.first.isdisjoint(b.first) or a.most < b.least or b.most < a.least for a, b in pairs
    )
    return _Part(
        _NO_CHARACTERS.union(*(branch.first for branch in branches)),
        _NO_CHARACTERS.union(*(branch.characters for branch in branches)),
        all(branch.is_needed for branch in branches), is_fixed, is_unique, is_fixed,
        min(branch.least for branch in branches), max(branch.most for branch in branches),
        prod(branch.ways for branch in branches) if differ else sum(branch.ways for branch in branches),
        max(branch.powers for branch in branches),
    )  # fmt: skip


def _set(text: str) -> str:
    r"""Return the set of characters that a token stands for, as `re` writes it."""
    if text in ("[]", "[^]"):
        return r"[\s\S]" if text == "[^]" else r"[^\s\S]"
    if text.startswith("["):
        head = re.match(r"\[\^?", text)[0]  # type: ignore[index]  # the text begins with a bracket
        return (
            head + re.sub(r"\\u\{\w+\}|\\[\s\S]|[\[&|~]", lambda match: _member(match[0]), text[len(head) : -1]) + "]"
        )
    if text in (r"\s", r"\S"):
        return f"[{_SPACES}]" if text == r"\s" else f"[^{_SPACES}]"
    return re.escape(text) if len(text) == 1 and text != "." else _member(text)


def _member(text: str) -> str:
    if text.startswith("\\u{"):
        return re.escape(chr(int(text[3:-1], 16)))
    if text == r"\s":
        return _SPACES
    if text == r"\/":
        return "/"
    return f"\\{text}" if text in "[&|~" else text  # `re` warns that these may get a meaning
