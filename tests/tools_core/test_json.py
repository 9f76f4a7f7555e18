"""Arguments as JSON text: strict parsing, and refusals with their reasons."""

import json
from typing import Any, NotRequired, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_core import InvalidArguments, tool

TEXT_LIMIT = 10_000_000


@tool(input_schema={"type": "object"})
def echo(**arguments: Any) -> dict[str, Any]:
    """Return the arguments."""
    return arguments


def parse(text):
    return echo.call(text).unwrap()


def reason(text):
    with pytest.raises(InvalidArguments) as caught:
        parse(text)
    assert caught.value.type == "validation_error"
    assert len(str(caught.value)) <= 200
    return caught.value.reason


@pytest.mark.parametrize("text", ["", "  \n", "{}", b"{}", b"", "\t{ }\r\n"])
def test_blank_text_and_the_empty_object_mean_no_arguments(text):
    assert parse(text) == {}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"a": 1', "invalid_json"),
        ('{"a": 1} trailing', "invalid_json"),
        ("{'a': 1}", "invalid_json"),
        ('{"a": }', "invalid_json"),
        ('{"a": 01}', "invalid_json"),
        ('{"a": "line\nbreak"}', "invalid_json"),
        ("{", "invalid_json"),
        (b"\xff{}", "invalid_json"),
        ("null", "not_an_object"),
        ("[]", "not_an_object"),
        ("3", "not_an_object"),
        ('"text"', "not_an_object"),
        (json.dumps('{"a": 1}'), "not_an_object"),
        ('{"a": NaN}', "not_finite"),
        ('{"a": -Infinity}', "not_finite"),
        ('{"a": ' + "9" * 5_000 + "}", "number_too_large"),
        ('{"a":' * 100_000, "too_deep"),
        ('{"a":' + "[" * 100_000, "too_deep"),
        ('{"a": "' + "x" * (TEXT_LIMIT + 1) + '"}', "too_large"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_each_way_to_be_malformed_has_its_own_reason(text, kind):
    assert reason(text) == kind


def test_arguments_encoded_twice_are_named_as_such():
    with pytest.raises(InvalidArguments, match="encoded twice"):
        parse(json.dumps(json.dumps({"a": 1})))


def test_a_syntax_error_names_its_position():
    with pytest.raises(InvalidArguments, match='at character 5, before "= 1}"'):
        parse('{"a" = 1}')
    with pytest.raises(InvalidArguments, match="cut off"):
        parse('{"a": [1, 2')


@pytest.mark.parametrize(
    "text", ['{"a": 1, "a": 2}', '{"a": [{"b": 1, "c": 2, "b": 3}]}', '{"a": 1, "\\u0061": 2}'], ids=range(3)
)
def test_a_repeated_key_is_refused(text):
    assert reason(text) == "duplicate_key"


@pytest.mark.parametrize("text", ['{"a": ":::", "b": {"a": ":"}}', '{":": 1, "\\":": 2}'])
def test_a_colon_in_a_string_is_not_a_key(text):
    assert parse(text) == json.loads(text)


class Leaf(TypedDict):
    """Ends a tree."""

    b: int


class Tree(TypedDict):
    """Holds trees."""

    a: "list[Tree | Leaf] | None"
    b: NotRequired[str]


@tool
def take(a: Tree | Leaf | dict[str, Leaf] | list[Any] | None, b: dict[str, Any] | int = 1, **more: Any) -> None:
    """Take much."""


def with_repeated_key(value, skip):
    """Write JSON in which the object after `skip` others has one key twice, and return how many are left to skip."""
    if isinstance(value, list):
        parts = []
        for item in value:
            text, skip = with_repeated_key(item, skip)
            parts.append(text)
        return f"[{','.join(parts)}]", skip
    if not isinstance(value, dict) or not value:
        return json.dumps(value), skip
    pairs = list(value.items())
    pairs += pairs[:1] if skip == 0 else []
    skip -= 1
    parts = []
    for key, item in pairs:
        text, skip = with_repeated_key(item, skip)
        parts.append(f"{json.dumps(key)}:{text}")
    return f"{{{','.join(parts)}}}", skip


keys = st.text(st.sampled_from('ab:"\\ \n{é'), max_size=3)
objects = st.dictionaries(
    keys,
    st.recursive(
        st.none() | st.integers() | keys,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    ),
    max_size=4,
)


@given(objects, st.sampled_from([None, 1]), st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : ")]), st.booleans())
def test_an_object_is_read_as_it_was_written(value, indent, separators, ascii_only):
    text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=ascii_only)
    assert parse(text) == value


leaf = st.fixed_dictionaries({"b": st.integers()})
tree = st.recursive(
    leaf,
    lambda inner: st.fixed_dictionaries({"a": st.none() | st.lists(inner, max_size=3)}, optional={"b": keys}),
    max_leaves=6,
)


@given(tree | st.dictionaries(keys, leaf, max_size=2) | st.lists(objects, max_size=2), objects, st.integers(0, 5))
def test_a_call_refuses_a_repeated_key_at_any_depth(a, b, skip):
    arguments = {"a": a, "b": b}
    assert take.call(json.dumps(arguments)).ok
    text, left = with_repeated_key(arguments, skip)
    assert take.call(text).metadata.get("reason") == ("duplicate_key" if left < 0 else None)
