from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_core import ToolError
from tools_filesystem._search._regex import query

re2 = pytest.importorskip("re2", reason="google-re2 is not installed")

PIECES = ("a", "b", "ab", "é", ".", "*", "+", "?", "|", "(", ")", "(?:", "(?i)", "(?i:", "[ab]", "[^a]", "[]a]",
          "[[:alpha:]]", "{2}", "{0,1}", "{,", "{", "}", "^", "$", r"\.", r"\a", r"\d", r"\b", r"\x61", r"\x{61}",
          r"\pL", r"\p{L}", r"\Qa.b\E", r"\/", r"\-", r"\"", "#", "-", " ", r"[\]a]", r"[\/a]", r"(?P<n>a)",
          r"(?<m>a)", "[a[]", "[^&&b]", "[~~]", r"(?U)")  # fmt: skip
PATTERNS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("".join)
LINES = st.lists(st.sampled_from(list('abé.1A/-"# {2}')), max_size=12)


def compiled(source, *, is_fixed=False):
    options = re2.Options()
    options.log_errors = False
    options.literal = is_fixed
    try:
        return re2.compile(source if is_fixed else f"(?m){source}", options)
    except re2.error:
        return None


@given(PATTERNS, LINES.map("".join))
def test_what_is_searched_for_means_what_was_asked_and_its_literal_is_required(pattern, line):
    asked = compiled(pattern)
    try:
        made = query(pattern, is_fixed=False, ignore_case=False)
    except ToolError:  # RE2 knows it no better
        assert asked is None
        return
    ours = compiled(made.source, is_fixed=made.is_fixed)
    assert (asked is None) == (ours is None)
    if asked is not None:
        assert bool(asked.search(line)) == bool(ours.search(line))
        assert not asked.search(line) or made.literal.decode() in line


@pytest.mark.parametrize(
    ("pattern", "literal"),
    [
        ("NEEDLE-7f[0-9]a", "NEEDLE-7f"),
        ("[A-Z]+-7f[0-9]a", "-7f"),
        (r"import\s+os\.path", "os.path"),
        ("abc?d", "ab"),
        ("abc+d", "abc"),
        ("abc{0}d", "ab"),
        ("(abc)d", "d"),
        ("abc|d", ""),
        ("(?i)abc", ""),
        ("x(a|b)yz", "yz"),
        (r"\x41bc", "bc"),
        (r"\p{L}abc", "abc"),
        ("[abc", ""),
    ],
)
def test_the_longest_required_text_is_known(pattern, literal):
    assert query(pattern, is_fixed=False, ignore_case=False).literal.decode() == literal


@given(st.text(max_size=60))
def test_no_pattern_is_an_accident(pattern):
    try:
        made = query(pattern, is_fixed=False, ignore_case=False)
    except ToolError as error:
        assert error.type in {"validation_error", "limit_exceeded"}
    else:
        assert made.source
