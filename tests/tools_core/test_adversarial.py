"""Arguments from a caller who means no good: a clear error by kind, nothing runs, nothing escapes."""

import json
from typing import Any, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools_core import Result, Tool, tool


class Tree(TypedDict):
    value: int
    children: list["Tree"]


ran: list[Any] = []


@tool
def free(value: Any = None) -> str:
    """Take anything."""
    ran.append(value)
    return "ran"


@tool
def grow(tree: Tree) -> str:
    """Take a tree."""
    ran.append(tree)
    return "ran"


@tool
def name(text: str = "", number: int = 0) -> str:
    """Take text and a number."""
    ran.append((text, number))
    return "ran"


class Open(Tool):
    """Takes what comes."""

    input_schema = {"type": "object"}

    def execute(self, **arguments: Any) -> str:
        ran.append(arguments)
        return "ran"


@pytest.fixture(autouse=True)
def nothing_ran_yet():
    ran.clear()


def refused(subject: Tool, arguments: Any, *words: str) -> Result:
    result = subject.call(arguments)
    assert result.error_type == "validation_error", result
    assert ran == [], "the body ran"
    for word in words:
        assert word in result.error
    assert len(result.error) < 4_000
    json.loads(result.to_json())
    return result


def nested(depth: int, kind: str) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value] if kind == "list" else {"a": value}
    return value


@pytest.mark.parametrize(
    ("subject", "arguments", "word"),
    [
        (free, {"value": nested(100_000, "list")}, "nested too deeply"),
        (free, json.dumps({"value": nested(300, "list")}), "nested too deeply"),
        (grow, {"tree": nested(100_000, "dict")}, "nested too deeply"),
        (Open(), nested(100_000, "dict"), "nested too deeply"),
        (free, {"value": float("nan")}, "finite"),
        (free, '{"value": 1e999}', "finite"),
        (free, {"value": "\ud800"}, "surrogate"),
        (free, {"value": {"\udfff": 1}}, "surrogate"),
        (name, '{"text": "\\udead"}', "surrogate"),
        (name, {"\ud800": 1}, "surrogate"),
        (free, {"value": {1, 2}}, "JSON"),
        (free, {"value": {5: 1}}, "member names"),
        (name, {"number": True}, "integer"),
        (name, {"number": 1.5}, "integer"),
        (name, {"number": "1.5"}, "integer"),
        (name, {"number": "１"}, "integer"),
        (name, {"number": "9" * 5_000}, "integer"),
        (name, {5: 1}, "5"),
    ],
    ids=range(18),
)
def test_values_that_no_tool_should_meet_are_refused_by_kind(subject, arguments, word):
    refused(subject, arguments, word)


@pytest.mark.parametrize("key", ["__class__", "_meta", "self", "context", "arguments", "", "a" * 10_000, "\x1b[31m"])
def test_special_names_are_only_unknown_arguments(key):
    refused(name, {key: 1}, "unknown argument")
    assert "\x1b" not in name.call({key: 1}).error


@pytest.mark.parametrize("key", ["__class__", "context", "arguments"])
def test_special_names_are_plain_data_if_any_name_is_allowed(key):
    assert Open().call({key: 1}).ok
    assert ran == [{key: 1}]


def test_a_value_that_contains_itself_is_refused():
    loop: list[Any] = []
    loop.append(loop)
    refused(free, {"value": loop})


def test_many_problems_of_huge_values_make_a_short_message():
    huge = "x" * 1_000_000
    result = refused(name, {"number": huge, huge: 1, **{f"x{n}": 1 for n in range(1_000)}}, "more problems")
    assert all(len(str(problem)) <= 200 for problem in result.exception.problems)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["red", "S", "2026-01-02", "1", "true", "[]", "{}", "null"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=8) | st.sampled_from(["sku", "quantity", "street"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.text() | st.binary() | json_values.map(json.dumps))
@settings(max_examples=100)
def test_call_returns_a_result_for_any_text(text):
    for subject in (free, name, grow, Open()):
        ran.clear()
        result = subject.call(text)
        assert isinstance(result, Result)
        assert result.ok == bool(ran)
