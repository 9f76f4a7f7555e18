"""`key=value` and `key:=json`, typed by a schema."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_core._cli._arguments import read_arguments
from tools_core._cli._terminal import CommandError
from tools_core._jsonschema import compile_schema

SCHEMA = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "loud": {"type": "boolean"},
        "unit": {"enum": ["C", "F"]},
        "level": {"enum": [1, 2, None]},
        "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "note": {"type": ["string", "null"]},
        "either": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "sizes": {"anyOf": [{"items": {"type": "integer"}}, {"type": "null"}]},
        "to": {"$ref": "#/$defs/Address"},
        "labels": {"type": "object", "additionalProperties": {"type": "integer"}},
        "free": {"type": "object"},
        "a.b": {"type": "integer"},
        "open": {},
    },
    "$defs": {
        "Address": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "zip": {"type": "integer"},
                "via": {"$ref": "#/$defs/Address"},
            },
        }
    },
}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("text=5", {"text": "5"}),
        ("text=a=b", {"text": "a=b"}),
        ("text=", {"text": ""}),
        ("count=5", {"count": 5}),
        ("count=-5", {"count": -5}),
        ("ratio=5", {"ratio": 5.0}),
        ("ratio=2.5e3", {"ratio": 2500.0}),
        ("loud=TRUE", {"loud": True}),
        ("unit=F", {"unit": "F"}),
        ("level=2", {"level": 2}),
        ("level=null", {"level": None}),
        ("limit=null", {"limit": None}),
        ("limit=3", {"limit": 3}),
        ("note=null", {"note": "null"}),
        ("either=5", {"either": "5"}),
        ("tags=a", {"tags": ["a"]}),
        ("tags=a tags=b", {"tags": ["a", "b"]}),
        ('tags=["a","b"]', {"tags": ["a", "b"]}),
        ("tags=[a", {"tags": ["[a"]}),
        ("sizes=1 sizes=2", {"sizes": [1, 2]}),
        ("sizes=null", {"sizes": None}),
        ("to.city=Oslo to.zip=150 to.via.zip=1", {"to": {"city": "Oslo", "zip": 150, "via": {"zip": 1}}}),
        ('to:={"city":"Oslo"} to.zip=1', {"to": {"city": "Oslo", "zip": 1}}),
        ("labels.x=1 labels.y.z=2", {"labels": {"x": 1, "y.z": 2}}),
        ("free.a.b=1", {"free": {"a": {"b": "1"}}}),
        ("a.b=1", {"a.b": 1}),
        ("open=1", {"open": "1"}),
        ("open:=1", {"open": 1}),
        ("count:=null", {"count": None}),
        ("unknown=1 un.known=2", {"unknown": "1", "un.known": "2"}),
    ],
)
def test_values_get_the_type_that_the_schema_names(words, expected):
    assert read_arguments(words.split(), SCHEMA) == expected


@pytest.mark.parametrize(
    "word", ["count=five", "count=0x5", "count=1_000", "ratio=NaN", "loud=yes", "limit=", "sizes=x"]
)
def test_what_does_not_fit_stays_text_and_the_tool_names_it(word):
    key, _, text = word.partition("=")
    found = read_arguments([word], SCHEMA)
    assert found in ({key: text}, {key: [text]})
    (problem,) = compile_schema({**SCHEMA, "additionalProperties": False}).check(found).problems
    assert problem.path.startswith(key)


@pytest.mark.parametrize(
    "words",
    [
        "Oslo",
        "=5",
        ":=5",
        "count=1 count=2",
        "count=1 count:=2",
        "to:=1 to.zip=2",
        'count:={"a":1,"a":2}',
        "count:=1,2",
    ],
)
def test_what_is_no_argument_is_refused(words):
    with pytest.raises(CommandError):
        read_arguments(words.split(), SCHEMA)


def test_a_schema_that_refers_to_itself_in_a_circle_is_survived():
    schema = {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"anyOf": [{"$ref": "#/$defs/A"}]}}}
    assert read_arguments(["a=1"], schema) == {"a": "1"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(json_values)
def test_any_json_value_arrives_as_it_is(value):
    assert read_arguments([f"open:={json.dumps(value)}"], SCHEMA) == {"open": value}


@given(st.text())
def test_any_text_arrives_as_it_is_where_text_is_wanted(text):
    assert read_arguments([f"text={text}", f"tags={text}", "tags=x"], SCHEMA) == {
        "text": text,
        "tags": [text, "x"],
    }


@given(st.sampled_from(sorted(SCHEMA["properties"])), st.text())
def test_no_text_breaks_the_reading_of_a_value(key, text):
    read_arguments([f"{key}={text}"], SCHEMA)


@given(st.lists(st.text(), max_size=4))
def test_any_words_are_arguments_or_refused(words):
    try:
        read_arguments(words, SCHEMA)
    except CommandError as refusal:
        assert refusal.status == 2
