"""Arguments as JSON text: strict parsing, and refusals with their reasons."""

import json
from typing import Any

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
        ("[1]", "not_an_object"),
        ("false", "not_an_object"),
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


@given(objects, objects)
def test_a_repeated_key_is_refused_beside_any_data(a, b):
    assert reason(f'{{"a": {json.dumps(a)}, "b": [{{"k": {json.dumps(b)}, "k": 1}}]}}') == "duplicate_key"
