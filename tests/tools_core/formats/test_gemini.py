"""Gemini's dialect, rule by rule."""

from __future__ import annotations

import pytest

from tools_core.formats import FormatError, gemini


def written(properties, required=None, **rest):
    required = list(properties) if required is None else required
    schema = {"type": "object", "properties": properties, "required": required, **rest}
    [declaration] = gemini.definitions([{"name": "t", "description": "T.", "input_schema": schema}])
    return declaration["parameters"]["properties"]


def back(schema, arguments):
    [call] = gemini.calls([{"functionCall": {"name": "t", "args": arguments}}], [{"name": "t", "input_schema": schema}])
    return call.arguments


def test_types_are_upper_case_and_null_is_a_flag():
    made = written({"a": {"type": ["string", "null"]}, "b": {"type": ["integer", "string"]}, "c": {"type": "null"}})
    assert made == {
        "a": {"type": "STRING", "nullable": True},
        "b": {"anyOf": [{"type": "INTEGER"}, {"type": "STRING"}]},
        "c": {"type": "NULL"},
    }


def test_only_texts_can_be_listed_and_calls_give_the_values_back():
    schema = {"type": "object", "properties": {"n": {"enum": [1, 2.5, True, None, ""]}, "c": {"const": 3}}}
    made = written(schema["properties"])
    assert made["n"] == {"type": "STRING", "enum": ["1", "2.5", "true", '""'], "nullable": True}
    assert made["c"] == {"type": "STRING", "enum": ["3"]}
    for text, value in (("1", 1), ("2.5", 2.5), ("true", True), (None, None), ('""', "")):
        found = back(schema, {"n": text, "c": "3"})
        assert found == {"n": value, "c": 3}
        assert type(found["n"]) is type(value)


def test_limits_without_a_keyword_are_rewritten_or_said():
    made = written(
        {
            "a": {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 10.5},
            "b": {"type": "number", "exclusiveMinimum": 0, "maximum": 1, "multipleOf": 0.5},
            "c": {"type": "string", "format": "uri", "minLength": 2, "default": "x"},
            "d": {"type": "string", "format": "date-time"},
            "e": {"type": "integer", "exclusiveMinimum": 3, "minimum": 9},
        }
    )
    assert made == {
        "a": {"type": "INTEGER", "minimum": 1, "maximum": 10},
        "b": {"type": "NUMBER", "maximum": 1, "description": "More than 0; a multiple of 0.5"},
        "c": {"type": "STRING", "minLength": 2, "description": 'In the format uri; default "x"'},
        "d": {"type": "STRING", "format": "date-time"},
        "e": {"type": "INTEGER", "minimum": 9},
    }


def test_references_are_written_out():
    definitions = {
        "City": {"type": "string", "description": "A city."},
        "Way": {"type": "array", "items": {"$ref": "#/$defs/City"}},
    }
    made = written({"a": {"$ref": "#/$defs/Way", "description": "The way."}}, **{"$defs": definitions})
    assert made["a"] == {
        "type": "ARRAY",
        "items": {"type": "STRING", "description": "A city."},
        "description": "The way.",
    }


@pytest.mark.parametrize(
    ("node", "path"),
    [
        ({"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}, "properties/a/properties/next"),
        (
            {"type": "array", "items": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Node"}]}},
            "properties/a/items/anyOf/1",
        ),
    ],
    ids=["object", "array"],
)
def test_a_recursive_schema_is_refused_with_the_tool_and_the_place(node, path):
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}}
    with pytest.raises(FormatError, match=r"`tree` at properties/a/.* for gemini: the schema is recursive") as caught:
        gemini.definitions([{"name": "tree", "input_schema": schema}])
    assert (caught.value.tool, caught.value.path, caught.value.format) == ("tree", path, "gemini")


def test_references_that_multiply_beyond_reason_are_refused():
    definitions = {
        f"D{n}": {
            "type": "object",
            "properties": {"a": {"$ref": f"#/$defs/D{n + 1}"}, "b": {"$ref": f"#/$defs/D{n + 1}"}},
        }
        for n in range(20)
    } | {"D20": {"type": "string"}}
    with pytest.raises(FormatError, match="20,000 parts"):
        written({"a": {"$ref": "#/$defs/D0"}}, **{"$defs": definitions})


def test_nothing_stands_beside_alternatives():
    made = written(
        {
            "a": {
                "description": "A or B.",
                "default": 1,
                "anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}],
            }
        }
    )
    assert made["a"] == {
        "anyOf": [
            {"type": "INTEGER", "description": "A or B. (default 1)", "nullable": True},
            {"type": "STRING", "nullable": True},
        ]
    }


def test_open_objects_are_json_text():
    schema = {"type": "object", "properties": {"env": {"type": "object"}, "any": {}}}
    made = written(schema["properties"])
    assert made["env"] == {"type": "STRING", "description": "JSON text of an object"}
    assert back(schema, {"env": '{"A": 1}', "any": "[null]"}) == {"env": {"A": 1}, "any": [None]}


def test_a_tool_that_takes_nothing_has_no_parameters():
    [declaration] = gemini.definitions([{"name": "now", "description": "The time."}])
    assert declaration == {"name": "now", "description": "The time."}


def test_members_whose_names_are_no_words_are_renamed_and_back():
    schema = {
        "type": "object",
        "properties": {
            "Content-Type": {"type": "string"},
            "Content_Type": {"type": "string"},
            "1st": {"type": "string"},
        },
        "required": ["Content-Type"],
    }
    [declaration] = gemini.definitions([{"name": "t", "input_schema": schema}])
    names = list(declaration["parameters"]["properties"])
    assert names == ["Content_Type", "Content_Type_", "_1st"]
    assert declaration["parameters"]["required"] == ["Content_Type"]
    sent = dict(zip(names, "abc", strict=True))
    assert back(schema, sent) == {"Content-Type": "a", "Content_Type": "b", "1st": "c"}
