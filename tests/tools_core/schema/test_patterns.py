"""ECMA-262 patterns match as in JavaScript."""

from __future__ import annotations

import pytest

from tools_core.schema import SchemaError
from tools_core.schema import compile as compile_schema


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
        ("^(?<y>a|b)\\k<y>$", ["aa", "bb"], ["ab"]),
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
        (r"\p{L}", "bad escape"),
        ("(?<=a+)b", "look-behind"),
        ("a{99999999999}", "repetition"),
    ],
)
def test_a_pattern_that_cannot_be_compiled_is_refused_with_the_reason(pattern: str, advice: str) -> None:
    with pytest.raises(SchemaError, match="#/pattern") as refusal:
        compile_schema({"pattern": pattern})
    assert advice in str(refusal.value)
    with pytest.raises(SchemaError, match="#/patternProperties/"):
        compile_schema({"patternProperties": {pattern: True}})
