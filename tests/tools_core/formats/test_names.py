"""Names on the wire."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tools_core.formats import FORMATS, legal_names

PATTERNS = dict.fromkeys(FORMATS, "[A-Za-z0-9_-]{1,64}") | {
    "gemini": "[A-Za-z_][A-Za-z0-9_.:-]{0,63}",
    "mcp": "[A-Za-z0-9_.-]{1,64}",
}
NAMES = st.lists(
    st.one_of(st.text(max_size=80), st.text("a.:_-1é ", max_size=5), st.sampled_from(["a.b", "a_b", "a:b"]))
)


@given(names=NAMES)
@example(names=["a.b", "a_b", "a:b", "", "." * 70, "x" * 70, "x" * 71, "é", "è", "1", "-"])
@pytest.mark.parametrize("format_", ["openai", "gemini", "mcp"])
def test_names_are_legal_unique_and_independent_of_order(format_, names):
    result = legal_names(names, format_)
    assert result.keys() == set(names)
    assert len(set(result.values())) == len(result)
    assert all(re.fullmatch(PATTERNS[format_], name) for name in result.values())
    assert legal_names(sorted(names, reverse=True), format_) == result
    assert all(result[name] == name for name in names if re.fullmatch(PATTERNS[format_], name))


def test_rewritten_names_are_readable():
    assert legal_names(["math.sum"], "openai") == {"math.sum": "math_sum"}
    assert legal_names(["math.sum"], "gemini") == {"math.sum": "math.sum"}
    assert legal_names(["2d"], "gemini") == {"2d": "_2d"}


def test_a_rewritten_name_never_equals_another_name():
    result = legal_names(["math.sum", "math_sum"], "openai")
    assert result["math_sum"] == "math_sum"
    assert re.fullmatch("math_sum_[0-9a-f]{8}", result["math.sum"])
    again = legal_names(["math.sum", "math_sum", result["math.sum"]], "openai")
    assert len(set(again.values())) == 3
