"""ECMA-262 patterns match as in JavaScript."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_core.schema import SchemaError
from tools_core.schema import compile as compile_schema

ATOMS = st.sampled_from(["a", "b", "-", ".", "[ab]", "[^a]", r"\d", r"\w", r"\s", r"\S", "^", r"\b", "(?=a)", "(?!b)"])
PATTERNS = st.recursive(
    ATOMS,
    lambda part: st.one_of(
        st.tuples(part, part).map("".join),
        st.tuples(part, part).map("(?:{0[0]}|{0[1]})".format),
        st.tuples(part, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{2,}", "*?"])).map("({0[0]}){0[1]}".format),
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("^a$", ["a"], ["a\n", "\na", "b\na"]),
        (r"^\d$", ["7"], ["٣", "a"]),
        (r"^\w$", ["a", "_", "9"], ["é", "-"]),
        (r"\bcafé\b", [], ["café"]),
        (r"^\x41A\u{1F600}$", ["AA\U0001f600"], ["AA"]),
        (r"^\0\/\-\.$", ["\0/-."], ["0/-."]),
        ("^[[&&a]$", ["[", "&", "a"], ["b"]),
        (r"^(?<year>\d{2,4}?)-(?:a|bc)*?$", ["12-", "1234-abca"], ["1-", "123-b"]),
        (r"(?<=a)b(?<!cab)", ["aab"], ["cab", "b"]),
        (r"^[\s]\S$", ["\u2003a", "\xa0\xe9"], ["a\xe9", "\ufeff\ufeff"]),
        (r"^[]a|^[^]{,2}$", ["\n{,2}"], ["a", "]a", "ab"]),
        (r"^(?:a)?(?=b)b(?!c)", ["ab", "b"], ["bc"]),
    ],
)
def test_a_pattern_matches_as_in_ecmascript(pattern: str, matching: list[str], other: list[str]) -> None:
    validator = compile_schema({"type": "string", "pattern": pattern})
    for text in matching:
        assert validator.accepts(text), text
        assert not validator.check(text, repair=False).problems
    for text in other:
        assert not validator.accepts(text), text
        assert validator.check(text, repair=False).problems


@pytest.mark.parametrize(
    ("pattern", "advice"),
    [
        (r"\p{L}", r"\p{ is not supported"),
        ("(?<y>a|b)\\k<y>", r"\k< is not supported"),
        ("(?i:a)", r"(?i is not supported"),
        ("a{99999999999}", "repetition number"),
        ("(a{1,900}){1,900}", "too many ways"),
        ("(a", "missing )"),
        ("a)", "unbalanced parenthesis"),
        ("a**", "* is not supported"),
        ("\\", "is not supported"),
    ],
)
def test_a_pattern_that_cannot_be_compiled_is_refused_with_the_reason(pattern: str, advice: str) -> None:
    with pytest.raises(SchemaError, match="#/pattern") as refusal:
        compile_schema({"pattern": pattern})
    assert advice in str(refusal.value)
    with pytest.raises(SchemaError, match="#/patternProperties/"):
        compile_schema({"patternProperties": {pattern: True}})


@pytest.mark.parametrize(
    "pattern",
    [
        "^(a+)+$", "^(a|a)*$", "(a+a+)+b", "^(?=(a+)+b)", "(.*)*b", "(a?a?)*b", "^(?:a|b|ab)*$", r"^(\w+\s?)*$",
        "(a{1,99}){1,99}b", "(?:a?){40}a{40}", "(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)",
    ],
)  # fmt: skip
def test_a_pattern_that_may_take_exponential_time_is_refused(pattern: str) -> None:
    with pytest.raises(SchemaError, match=r"exponential time|too many ways"):
        compile_schema({"pattern": pattern})


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^[a-z0-9]+(?:-[a-z0-9]+)*$", "a-slug-" * 500 + "x"),
        ("^([A-Za-z0-9][A-Za-z0-9-]*[.])+[A-Za-z]{2,}$", "ask.tools." * 20 + "example.org"),
        ("^(?:[0-9a-zA-Z+/]{4})*(?:[0-9a-zA-Z+/]{2}==)?$", "abcd" * 100_000),
        (r"^(\\.|[^\"\\])*$", "a\\n" * 50_000),
        ("^(?=.*[A-Z])(?=.*[0-9]).{8,}$", "Passw0rd" * 500),
        ("^(/[^/]+)+/?$", "/usr" * 100),
        (r"\S", " " * 1_000_000 + "x"),
        (".+", "x" * 1_000_000),
    ],
)
def test_a_pattern_with_clear_repetitions_matches_long_texts(pattern: str, text: str) -> None:
    assert compile_schema({"pattern": pattern}).is_valid(text)


@pytest.mark.parametrize("pattern", ["a*a*a*a*b", r"\s+$", "^[ab]*a[ab]*a[ab]*c$"])
def test_text_too_long_for_its_pattern_is_rejected(pattern: str) -> None:
    assert compile_schema({"pattern": pattern}).check(" a" * 50_000).problems


@given(st.text("ab- \n1", max_size=8), st.data())
def test_a_pattern_matches_the_same_texts_as_in_python(text: str, data: st.DataObject) -> None:
    pattern = data.draw(PATTERNS)
    try:
        validator = compile_schema({"pattern": pattern})
    except SchemaError as refusal:
        assert re.search("exponential time|too many ways", str(refusal))
    else:
        assert validator.is_valid(text) == bool(re.search(pattern, text, re.ASCII))


def test_references_that_double_are_followed_once() -> None:
    parts = {f"p{n}": {"allOf": [{"$ref": f"#/$defs/p{n + 1}"}, {"$ref": f"#/$defs/p{n + 1}"}]} for n in range(60)}
    validator = compile_schema({"$ref": "#/$defs/p0", "$defs": {**parts, "p60": {"type": "integer"}}})
    assert validator.is_valid(3)
    assert [problem.text for problem in validator.check("x").problems] == ['must be an integer, got "x"']
    assert validator.check("3").value == 3
