"""Random schemas in the dialects that rewrite them: nothing is lost on the way there and back."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tools_core._jsonschema import compile_schema
from tools_core.formats import FORMATS

EXAMPLES = int(os.environ.get("FORMAT_EXAMPLES", "60"))
NAMES = st.sampled_from(["a", "b", "kind", "value", "items_2", "additional_properties"])
WORDS = st.sampled_from(["", "What it is.", "ends with text"])
SCALARS = st.one_of(
    st.sampled_from([{"type": kind} for kind in ("string", "integer", "number", "boolean", "null")]),
    st.just({"type": ["string", "null"]}),
    st.just({"type": ["integer", "string"]}),
    st.just({"type": "string", "format": "date"}),
    st.just({"type": "integer", "minimum": 1, "maximum": 20}),
    st.just({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 9, "multipleOf": 2}),
    st.just({"type": "string", "minLength": 3}),
    st.lists(st.sampled_from(["x", "y", "", 1, 2.5, True, None]), min_size=1, unique_by=json.dumps).map(
        lambda values: {"enum": values}
    ),
    st.sampled_from(["x", 3, None, False]).map(lambda value: {"const": value}),
    st.just({}),
    st.just(True),
    st.just({"type": "object"}),
    st.just({"type": "array"}),
)


def annotated(schema, description, default):
    if schema is True or not (description or default is None):
        return schema
    made = {**schema, **({"description": description} if description else {})}
    return made | ({"default": None} if default is None else {})


def objects(parts):
    def make(properties, required, further):
        made = {"type": "object", "properties": properties, "required": [key for key in properties if key in required]}
        return made | ({} if further == "unsaid" else {"additionalProperties": further})

    members = st.dictionaries(NAMES, st.builds(annotated, parts, WORDS, st.sampled_from([None, 0, 1, 2])), max_size=4)
    return st.builds(make, members, st.sets(NAMES), st.one_of(st.sampled_from(["unsaid", False, True]), parts))


def maps(parts):
    return parts.map(lambda part: {"type": "object", "additionalProperties": part})


def lists(parts):
    return st.one_of(
        parts.map(lambda part: {"type": "array", "items": part, "maxItems": 3}),
        st.lists(parts, min_size=1, max_size=3).map(
            lambda found: {"type": "array", "prefixItems": found, "items": False, "minItems": len(found)}
        ),
    )


def unions(parts):
    return st.builds(
        lambda key, found: {key: found},
        st.sampled_from(["anyOf", "anyOf", "oneOf"]),
        st.lists(parts, min_size=1, max_size=3),
    )


def references(parts):
    return st.sampled_from([{"$ref": "#/$defs/One"}, {"$ref": "#/$defs/Two", "description": "Two of it."}])


def both(parts):
    return st.builds(lambda one, two: {"allOf": [one, two]}, objects(parts), objects(parts))


PARTS = st.recursive(
    SCALARS,
    lambda parts: st.one_of(
        objects(parts), objects(parts), maps(parts), lists(parts), unions(parts), both(parts), references(parts)
    ),
    max_leaves=8,
)
ROOTS = st.one_of(
    objects(PARTS),
    objects(PARTS),
    objects(PARTS),
    both(PARTS),
    st.builds(lambda found: {"type": "object", "anyOf": found}, st.lists(objects(SCALARS), min_size=1, max_size=3)),
)


def document(root, one, two):
    return {**root, "$defs": {"One": one, "Two": two}}


# The second definition may contain itself, and the first may contain the second.
RECURSIVE = st.sampled_from(
    [
        {
            "type": "object",
            "properties": {"kind": {"type": "string"}, "next": {"$ref": "#/$defs/Two"}},
            "required": ["kind"],
        },
        {"anyOf": [{"type": "integer"}, {"type": "object", "properties": {"a": {"$ref": "#/$defs/Two"}}}]},
        {"type": "array", "items": {"$ref": "#/$defs/Two"}},
        {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/Two"}, {"type": "object"}]}},
    ]
)
LEAVES = SCALARS.filter(lambda schema: schema is not True)
DOCUMENTS = {
    "openai-strict": st.builds(document, ROOTS, st.one_of(LEAVES, objects(PARTS)), st.one_of(LEAVES, RECURSIVE)),
    "gemini": st.builds(document, ROOTS, st.one_of(LEAVES, objects(SCALARS)), LEAVES),
}


def expressed(schema):
    """Without what a dialect can only put in words."""
    if isinstance(schema, list):
        return [expressed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {
        key: expressed(value)
        for key, value in schema.items()
        if key not in ("minLength", "multipleOf", "format", "prefixItems")
    }
    if "prefixItems" in schema:
        made["items"] = {"anyOf": expressed(schema["prefixItems"])}
    return {("anyOf" if key == "oneOf" else key): value for key, value in made.items()}


def same(one, two, schema):
    """Whether both are equal; among alternatives the model may say null where it means nothing, and the other way."""
    if "anyOf" in schema or "oneOf" in schema:
        one, two = without_null(one), without_null(two)
    return json.dumps(one, sort_keys=True) == json.dumps(two, sort_keys=True)


def without_null(value):
    if isinstance(value, list):
        return [without_null(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: without_null(item) for key, item in value.items() if item is not None}


@pytest.mark.slow
@pytest.mark.parametrize("name", DOCUMENTS)
@settings(max_examples=EXAMPLES)
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_arguments_for_any_schema_come_back_as_they_were_meant(name, data, seed, model, parameters_of, answer):
    schema = data.draw(DOCUMENTS[name])
    definition = {"name": "t", "input_schema": schema}
    before = json.dumps(schema)
    [written] = FORMATS[name].definitions([definition])
    assert json.dumps(schema) == before
    dialect = parameters_of(name, written)
    Draft202012Validator.check_schema(dialect)
    theirs = model(schema, seed)
    value = theirs.sample(schema)
    assume(isinstance(value, dict) and Draft202012Validator(schema).is_valid(value))
    sent = model(dialect, seed).write_arguments(value)
    assert Draft202012Validator(dialect).is_valid(sent), (value, dialect)
    [call] = FORMATS[name].calls(answer(name, [("1", "t", sent)]), [definition])
    assert same(call.arguments, value, before), (sent, dialect)
    assert compile_schema(schema).check(call.arguments, repair=False).problems == []


@pytest.mark.slow
@pytest.mark.parametrize("name", DOCUMENTS)
@settings(max_examples=EXAMPLES)
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_what_a_dialect_allows_the_original_allows_but_for_what_is_said_in_words(
    name, data, seed, model, parameters_of, answer
):
    schema = data.draw(DOCUMENTS[name])
    definition = {"name": "t", "input_schema": schema}
    [written] = FORMATS[name].definitions([definition])
    dialect = parameters_of(name, written)
    assume('"not":{}' not in json.dumps(dialect).replace("\\", "").replace(" ", ""))  # what nothing fits
    sent = model(dialect, seed).sample(dialect)
    assume(Draft202012Validator(dialect).is_valid(sent))
    [call] = FORMATS[name].calls(answer(name, [("1", "t", sent)]), [definition])
    judge = Draft202012Validator(expressed(schema))
    assert [error.message for error in judge.iter_errors(call.arguments)] == [], (sent, dialect)
