"""`key=value` and `key:=json`, converted by a schema."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_core.command import CommandError, read_arguments

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
        ("count=5", {"count": 5}),
        ("ratio=2.5e3", {"ratio": 2500.0}),
        ("loud=TRUE", {"loud": True}),
        ("unit=F", {"unit": "F"}),
        ("level=null", {"level": None}),
        ("limit=3", {"limit": 3}),
        ("note=null", {"note": "null"}),
        ("either=5", {"either": "5"}),
        ("tags=a", {"tags": ["a"]}),
        ("tags=a tags=b", {"tags": ["a", "b"]}),
        ('tags=["a","b"]', {"tags": ["a", "b"]}),
        ("sizes=1 sizes=2", {"sizes": [1, 2]}),
        ("to.city=Oslo to.zip=150 to.via.zip=1", {"to": {"city": "Oslo", "zip": 150, "via": {"zip": 1}}}),
        ('to:={"city":"Oslo"} to.zip=1', {"to": {"city": "Oslo", "zip": 1}}),
        ("labels.x=1 labels.y.z=2", {"labels": {"x": 1, "y.z": 2}}),
        ("free.a.b=1", {"free": {"a": {"b": "1"}}}),
        ("a.b=1", {"a.b": 1}),
        ("open:=1", {"open": 1}),
        ("count:=null", {"count": None}),
        ("unknown=1 un.known=2", {"unknown": "1", "un.known": "2"}),
    ],
)
def test_values_are_converted_to_the_type_in_the_schema(words, expected):
    assert read_arguments(words.split(), SCHEMA) == expected


@pytest.mark.parametrize("word", ["count=five", "ratio=NaN", "loud=yes", "sizes=x"])
def test_a_value_with_another_type_stays_text(word):
    key, _, text = word.partition("=")
    assert read_arguments([word], SCHEMA) in ({key: text}, {key: [text]})


@pytest.mark.parametrize(
    "words",
    ["Oslo", ":=5", "count=1 count=2", "count=1 count:=2", "to:=1 to.zip=2", 'count:={"a":1,"a":2}', "count:=1,2"],
)
def test_other_words_are_wrong_usage(words):
    with pytest.raises(CommandError):
        read_arguments(words.split(), SCHEMA)


def test_a_schema_may_refer_to_itself():
    schema = {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"anyOf": [{"$ref": "#/$defs/A"}]}}}
    assert read_arguments(["a=1"], schema) == {"a": "1"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(json_values)
def test_any_json_value_is_passed_on(value):
    assert read_arguments([f"open:={json.dumps(value)}"], SCHEMA) == {"open": value}


@given(st.text())
def test_any_text_reaches_a_parameter_for_text(text):
    assert read_arguments([f"text={text}", f"tags={text}", "tags=x"], SCHEMA) == {
        "text": text,
        "tags": [text, "x"],
    }


@given(st.sampled_from(sorted(SCHEMA["properties"])), st.text())
def test_no_text_of_a_value_is_an_internal_error(key, text):
    assert key.split(".")[0] in str(read_arguments([f"{key}={text}"], SCHEMA))
