"""Arguments from a caller who means no good: a clear error by kind, nothing runs, nothing escapes."""

import datetime as dt
import enum
import json
import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict
from uuid import UUID

import annotated_types
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools_core import Result, Tool, tool


class Line(TypedDict):
    sku: str
    quantity: int
    note: NotRequired[str | None]


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Address:
    street: str
    zip: str | None = None


class Tree(TypedDict):
    value: int
    children: list["Tree"]


ran: list[Any] = []


@tool
def order(
    lines: list[Line],
    to: Address,
    when: dt.date,
    colour: Colour = Colour.RED,
    size: Literal["S", "M"] = "M",
    rate: Annotated[float, annotated_types.Ge(0)] = 1.0,
    id: UUID | None = None,
    express: bool = False,
    extra: Any = None,
) -> str:
    """Order."""
    ran.append((lines, to, when, colour, size, rate, id, express, extra))
    assert isinstance(to, Address) and isinstance(when, dt.date) and isinstance(colour, Colour)
    assert all(type(line["quantity"]) is int for line in lines)
    assert isinstance(rate, float) and math.isfinite(rate) and type(express) is bool
    return "ordered"


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


@pytest.mark.parametrize("subject", [name, free, Open()], ids=["closed", "free", "open"])
@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('{"number": NaN}', "NaN"),
        ('{"number": Infinity}', "Infinity"),
        ('{"number": ' + "9" * 5_000 + "}", "too many digits"),
        ('{"text": ' + "[" * 100_000, "too deeply"),
        ('{"text":' * 100_000, "too deeply"),
        ('{"value": "' + "x" * 50_000_000 + '"}', "limit"),
        ("[1, 2]", "must be an object"),
        ('{"text": "a"', "cut off"),
        ('{"text": "a"} {"text": "b"}', "extra data"),
        ("{text: 1}", "invalid JSON"),
    ],
    ids=[
        "nan",
        "infinity",
        "digits",
        "deep lists",
        "deep objects",
        "50 MB",
        "array",
        "cut",
        "two",
        "python",
    ],
)
def test_malformed_text_is_refused_by_kind(subject, text, word):
    refused(subject, text, word)


@pytest.mark.parametrize(
    ("subject", "arguments", "word"),
    [
        (free, {"value": nested(100_000, "list")}, "nested too deeply"),
        (free, {"value": nested(100_000, "dict")}, "nested too deeply"),
        (free, json.dumps({"value": nested(300, "list")}), "nested too deeply"),
        (grow, {"tree": nested(100_000, "dict")}, "nested too deeply"),
        (Open(), nested(100_000, "dict"), "nested too deeply"),
        (free, {"value": float("nan")}, "finite"),
        (free, {"value": [float("inf")]}, "finite"),
        (free, '{"value": 1e999}', "finite"),
        (free, {"value": "\ud800"}, "surrogate"),
        (free, '{"value": ["\\ud800"]}', "surrogate"),
        (free, {"value": {"\udfff": 1}}, "surrogate"),
        (name, {"text": "\ud800"}, "surrogate"),
        (name, '{"text": "\\udead"}', "surrogate"),
        (name, {"\ud800": 1}, "surrogate"),
        (free, {"value": {1, 2}}, "JSON"),
        (free, {"value": b"x"}, "JSON"),
        (free, {"value": object()}, "JSON"),
        (free, {"value": {5: 1}}, "member names"),
        (name, {"number": True}, "integer"),
        (name, {"number": 1.5}, "integer"),
        (name, {"number": "1.5"}, "integer"),
        (name, {"number": "１"}, "integer"),
        (name, {"number": "1_000"}, "integer"),
        (name, {"number": "9" * 5_000}, "integer"),
        (name, {"text": None, "number": "x"}, "integer"),
        (name, {5: 1}, "5"),
    ],
    ids=range(26),
)
def test_values_that_no_tool_should_meet_are_refused_by_kind(subject, arguments, word):
    refused(subject, arguments, word)


@pytest.mark.parametrize(
    "key",
    [
        "__class__",
        "__init__",
        "__dict__",
        "_meta",
        "self",
        "tool",
        "context",
        "arguments",
        "",
        " ",
        "a" * 10_000,
        "\n",
        "\x1b[31m",
    ],
)
def test_special_names_are_only_unknown_arguments(key):
    refused(name, {key: 1}, "unknown argument")
    assert "\x1b" not in name.call({key: 1}).error


@pytest.mark.parametrize("key", ["__class__", "_meta", "context", "arguments", "tool"])
def test_special_names_are_plain_data_if_any_name_is_allowed(key):
    assert Open().call({key: 1}).ok
    assert ran == [{key: 1}]


def test_a_value_that_contains_itself_is_refused():
    loop: list[Any] = []
    loop.append(loop)
    refused(free, {"value": loop})


def test_hostile_mappings_do_not_get_past_the_check():
    class Liar(dict):
        def __getitem__(self, key):
            return "evil"

        def get(self, key, default=None):
            return "evil"

    result = name.call(Liar(text="a", number=1))
    assert result.ok
    assert ran == [("a", 1)]


def test_strings_that_pretend_do_not_get_past_the_check():
    class Sneaky(str):
        __slots__ = ()

        def __eq__(self, other):
            return True

        __hash__ = str.__hash__

    @tool
    def pick(size: Literal["S", "M"]) -> str:
        """Pick."""
        ran.append(size)
        return size

    refused(pick, {"size": Sneaky("XXL")}, "must be one of")


def test_a_thousand_problems_make_one_short_message():
    result = refused(order, {"lines": [{"sku": 5}] * 10_000, **{f"x{n}": 1 for n in range(1_000)}})
    assert "more problems" in result.error


def test_problems_of_huge_values_stay_short():
    from tools_core import InvalidArguments

    huge = "x" * 1_000_000
    for subject, arguments in (
        (name, {"number": huge}),
        (name, {huge: 1}),
        (order, {"size": huge, "colour": [huge] * 99, "when": huge}),
    ):
        with pytest.raises(InvalidArguments) as caught:
            subject.call(arguments).unwrap()
        assert all(len(str(problem)) <= 200 for problem in caught.value.problems)


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
good = {
    "lines": st.lists(
        st.fixed_dictionaries({"sku": st.text(), "quantity": st.integers()}, optional={"note": st.none() | st.text()}),
        max_size=3,
    ),
    "to": st.fixed_dictionaries({"street": st.text()}, optional={"zip": st.none() | st.text()}),
    "when": st.dates().map(str),
}
optional = {
    "colour": st.sampled_from(["red", "blue"]),
    "size": st.sampled_from(["S", "M"]),
    "rate": st.floats(0, 1e9) | st.integers(0, 100),
    "id": st.none() | st.uuids().map(str),
    "express": st.booleans(),
    "extra": json_values,
}
mixed = st.fixed_dictionaries({}, optional={key: value | json_values for key, value in (good | optional).items()})


@given(mixed | st.dictionaries(st.text(), json_values, max_size=3))
@settings(max_examples=100)
def test_bodies_run_only_with_valid_values_for_any_json(arguments):
    ran.clear()
    result = order.call(arguments)
    assert isinstance(result, Result)
    assert result.ok == bool(ran)
    assert result.ok or result.error_type == "validation_error", result


@given(st.fixed_dictionaries(good, optional=optional))
@settings(max_examples=100)
def test_valid_arguments_run_as_text_and_as_a_mapping(arguments):
    if not _is_json(arguments):
        return
    ran.clear()
    assert order.call(arguments).ok
    text = json.dumps(arguments)
    assert order.call(text) == order.call(arguments)


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except ValueError:
        return False
    return free.call(value=value).ok


@given(st.text() | st.binary() | json_values.map(json.dumps))
@settings(max_examples=100)
def test_call_returns_a_result_for_any_text(text):
    for subject in (order, free, name, Open()):
        ran.clear()
        result = subject.call(text)
        assert isinstance(result, Result)
        assert result.ok == bool(ran)
