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
def test_names_are_legal_and_none_meet_and_order_changes_nothing(format_, names):
    made = legal_names(names, format_)
    assert made.keys() == set(names)
    assert len(set(made.values())) == len(made)
    assert all(re.fullmatch(PATTERNS[format_], name) for name in made.values())
    assert legal_names(sorted(names, reverse=True), format_) == made
    assert all(made[name] == name for name in names if re.fullmatch(PATTERNS[format_], name))


def test_a_name_stays_readable():
    assert legal_names(["math.sum"], "openai") == {"math.sum": "math_sum"}
    assert legal_names(["math.sum"], "gemini") == {"math.sum": "math.sum"}
    assert legal_names(["2d"], "gemini") == {"2d": "_2d"}


def test_a_rewritten_name_never_takes_another_tool_s():
    made = legal_names(["math.sum", "math_sum"], "openai")
    assert made["math_sum"] == "math_sum"
    assert re.fullmatch("math_sum_[0-9a-f]{8}", made["math.sum"])
    again = legal_names(["math.sum", "math_sum", made["math.sum"]], "openai")
    assert len(set(again.values())) == 3
