from __future__ import annotations

import os
from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from tools_filesystem import Glob
from tools_filesystem._search._pattern import Pattern, expanded
from tools_filesystem._search._segment import matcher, parse

NAMES = st.text("ab.]-!", min_size=1, max_size=8).filter(lambda name: name not in (".", ".."))
SEGMENTS = st.lists(
    st.sampled_from(["*", "**", "?", "a", "b", ".", "]", "-", "!", "[ab]", "[!a]", "[^b.]", "[a-b]", "[]a]", "[!]]",
                     "[-a]", "[a-]", r"\*", r"\a", r"\[", "[b-a]"]), min_size=1, max_size=7,
).map("".join)  # fmt: skip


def naive(pattern, name):
    """The meaning of a segment, tried out in every way."""

    @cache
    def match(at, position):
        if at == len(pattern):
            return position == len(name)
        char = pattern[at]
        if char == "*":
            return match(at + 1, position) or (position < len(name) and match(at, position + 1))
        if position == len(name):
            return False
        if char == "?":
            return match(at + 1, position + 1)
        if char == "\\" and at + 1 < len(pattern):
            return name[position] == pattern[at + 1] and match(at + 2, position + 1)
        if char == "[":
            chars, end = members(pattern, at + 1)
            if end:
                return (name[position] in chars) and match(end, position + 1)
        return name[position] == char and match(at + 1, position + 1)

    return match(0, 0)


def members(pattern, at):
    is_negated = pattern[at : at + 1] in ("!", "^")
    at += is_negated
    first, chars = at, set()
    while at < len(pattern) and (pattern[at] != "]" or at == first):
        escaped = pattern[at] == "\\" and at + 1 < len(pattern)
        low = pattern[at + escaped]
        at += 1 + escaped
        high = low
        if pattern[at : at + 1] == "-" and pattern[at + 1 : at + 2] not in ("", "]"):
            escaped = pattern[at + 1] == "\\" and at + 2 < len(pattern)
            high = pattern[at + 1 + escaped]
            at += 2 + escaped
        chars |= {low} | {chr(code) for code in range(ord(low), ord(high) + 1)}
    if at >= len(pattern):
        return set(), 0
    return ({chr(code) for code in range(128)} - chars if is_negated else chars), at + 1


@given(SEGMENTS, NAMES)
def test_a_segment_matches_what_it_means(pattern, name):
    assert matcher(parse(pattern))(name) == naive(pattern, name)


PATHS = st.lists(st.sampled_from(["a", "b", "ab", ".a"]), min_size=1, max_size=5)
PATTERNS = st.lists(st.sampled_from(["a", "b", "*", "**", "?", "a*", ".*", "{a,b}", "{a/b,*}", "{**/a,b}"]), min_size=1,
                    max_size=5).map("/".join)  # fmt: skip


def meant(parts, path):
    """The meaning of a pattern over the names of a path, tried out in every way."""
    if not parts:
        return not path
    if parts[0] == "**":
        rest = parts[1:] or ["*"]
        return meant(rest, path) or (bool(path) and not path[0].startswith(".") and meant(parts, path[1:]))
    is_seen = path and (parts[0].startswith(".") or not path[0].startswith("."))
    return bool(is_seen) and naive(parts[0], path[0]) and meant(parts[1:], path[1:])


@given(PATTERNS, PATHS)
def test_a_pattern_matches_the_paths_it_means(pattern, path):
    state = Pattern(expanded(pattern), hidden=False).start
    for folder in path[:-1]:
        state = state and state.enters(folder)
    matches = state is not None and path[-1].endswith(state.endings) and state.takes(path[-1])
    assert bool(matches) == any(meant(one.split("/"), path) for one in expanded(pattern))


def test_braces_stand_for_what_they_stand_for_in_a_shell():
    assert expanded("a{b,c{d,e}}f") == ["abf", "acdf", "acef"]
    assert expanded("{a,b}{a,b}") == ["aa", "ab", "ba", "bb"]
    assert expanded("{a,a,}") == ["a", ""]
    assert expanded("{a}{b") == ["{a}{b"]
    assert expanded(r"\{a,b}") == [r"\{a,b}"]
    assert expanded("a{b}{c,d}") == ["a{b}c", "a{b}d"]


@given(st.text(max_size=40))
def test_no_pattern_is_an_accident(pattern):
    result = Glob(os.path.dirname(__file__)).call({"pattern": pattern})
    assert result.ok or result.error_type in {"validation_error", "denied", "limit_exceeded", "not_found"}
