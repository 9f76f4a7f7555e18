"""Thousands of definitions that people wrote, in every format."""

from __future__ import annotations

import json
from itertools import chain

import pytest
from jsonschema import Draft202012Validator

from tools_core.formats import FORMATS, legal_names
from tools_testing._arguments import NoValueError, samples

pytestmark = pytest.mark.slow

CLOSED = {"properties", "required", "additionalProperties"}
KEYWORDS = {
    "openai-strict": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems", "pattern"},
    "anthropic-strict": {"default", "minItems"},
}


def name_of(written):
    return written.get("function", written)["name"]


def parts(schema):
    """Every subschema of one that was written."""
    yield schema
    for part in [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values(), *schema.get("anyOf", [])]:
        yield from parts(part)
    if "items" in schema:
        yield from parts(schema["items"])


def closed(schema):
    """The schema with objects that name members closed, as strict mode takes them."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(value) for key, value in schema.items()}
    return {"additionalProperties": False, **made} if isinstance(schema.get("properties"), dict) else made


def filled(value, schema):
    """The arguments as a model in strict mode has to write them: null for each member that is absent."""
    if "anyOf" in schema:
        branches = [each for each in schema["anyOf"] if Draft202012Validator(each).is_valid(filled(value, each))]
        return filled(value, branches[0]) if branches else value
    if isinstance(value, dict) and "properties" in schema:
        return {name: filled(value.get(name), part) for name, part in schema["properties"].items()}
    return [filled(item, schema["items"]) for item in value] if isinstance(value, list) and "items" in schema else value


@pytest.mark.parametrize("name", FORMATS)
def test_no_two_names_meet_and_each_finds_its_way_back(name, real_definitions, answer):
    for definitions in real_definitions:
        names = [name_of(each) for each in FORMATS[name].definitions(definitions)]
        assert len(set(names)) == len(definitions)
        assert names == list(legal_names([each["name"] for each in definitions], name).values())
        calls = FORMATS[name].calls(answer(name, [(str(n), each, {}) for n, each in enumerate(names)]), definitions)
        assert [call.name for call in calls] == [definition["name"] for definition in definitions]


@pytest.mark.parametrize("name", KEYWORDS)
def test_what_is_strict_has_the_form_that_the_provider_documents(name, real_definitions):
    known = KEYWORDS[name] | CLOSED | {"type", "enum", "const", "description", "title", "items", "anyOf", "format"}
    strict = 0
    for definition in chain.from_iterable(real_definitions):
        [written] = FORMATS[name].definitions([definition])
        written = written.get("function", written)
        strict += written["strict"]
        for part in parts(written.get("parameters") or written["input_schema"]) if written["strict"] else ():
            assert part.keys() <= known
            assert "anyOf" in part or "type" in part
            if "object" in part.get("type", ()):
                assert part.keys() >= CLOSED
                assert part["additionalProperties"] is False
                assert name != "openai-strict" or part["required"] == list(part["properties"])
    assert strict > 2_500


def test_arguments_come_back_as_they_were_meant(real_definitions, answer):
    tried = 0
    for definition in list(chain.from_iterable(real_definitions))[::5]:
        [written] = FORMATS["openai-strict"].definitions([definition])
        try:
            given = samples(closed(definition["input_schema"]), 2)
        except NoValueError:
            continue
        schema = written["function"]["parameters"]
        for arguments in given if written["function"]["strict"] else ():
            sent = filled(arguments, schema)
            assert Draft202012Validator(schema).is_valid(sent), (sent, schema)
            calls = FORMATS["openai-strict"].calls(answer("openai", [("1", name_of(written), sent)]), [definition])
            assert json.dumps(calls[0].arguments, sort_keys=True) == json.dumps(arguments, sort_keys=True)
            tried += 1
    assert tried > 900
