"""Thousands of definitions that people wrote, in every format."""

from __future__ import annotations

import json
from itertools import chain

import pytest
from jsonschema import Draft202012Validator

from tools_core.formats import FORMATS
from tools_testing._arguments import NoValueError, samples

pytestmark = pytest.mark.slow

CLOSED = {"properties", "required", "additionalProperties"}
KEYWORDS = {
    "openai-strict": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems", "pattern"},
    "anthropic-strict": {"default", "minItems"},
}


def name_of(converted):
    return converted.get("function", converted)["name"]


def parts(schema):
    """Every subschema of one that was converted."""
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
    result = {key: closed(value) for key, value in schema.items()}
    return {"additionalProperties": False, **result} if isinstance(schema.get("properties"), dict) else result


def filled(value, schema):
    """The arguments as a model in strict mode has to write them: null for item member that is absent."""
    if "anyOf" in schema:
        branches = [item for item in schema["anyOf"] if Draft202012Validator(item).is_valid(filled(value, item))]
        return filled(value, branches[0]) if branches else value
    if isinstance(value, dict) and "properties" in schema:
        return {name: filled(value.get(name), part) for name, part in schema["properties"].items()}
    return [filled(item, schema["items"]) for item in value] if isinstance(value, list) and "items" in schema else value


@pytest.mark.parametrize("name", KEYWORDS)
def test_strict_schemas_have_only_documented_keywords(name, real_definitions):
    parsed = KEYWORDS[name] | CLOSED | {"type", "enum", "const", "description", "title", "items", "anyOf", "format"}
    strict = 0
    for definition in chain.from_iterable(real_definitions):
        [converted] = FORMATS[name].definitions([definition])
        converted = converted.get("function", converted)
        strict += converted["strict"]
        for part in parts(converted.get("parameters") or converted["input_schema"]) if converted["strict"] else ():
            assert part.keys() <= parsed
            assert "anyOf" in part or "type" in part
            if "object" in part.get("type", ()):
                assert part.keys() >= CLOSED
                assert part["additionalProperties"] is False
                assert name != "openai-strict" or part["required"] == list(part["properties"])
    assert strict > 2_500


def test_strict_arguments_are_restored(real_definitions, answer):
    tried = 0
    for definition in list(chain.from_iterable(real_definitions))[::5]:
        [converted] = FORMATS["openai-strict"].definitions([definition])
        try:
            value = samples(closed(definition["input_schema"]), 2)
        except NoValueError:
            continue
        schema = converted["function"]["parameters"]
        for arguments in value if converted["function"]["strict"] else ():
            sent = filled(arguments, schema)
            assert Draft202012Validator(schema).is_valid(sent), (sent, schema)
            calls = FORMATS["openai-strict"].calls(answer("openai", [("1", name_of(converted), sent)]), [definition])
            assert json.dumps(calls[0].arguments, sort_keys=True) == json.dumps(arguments, sort_keys=True)
            tried += 1
    assert tried > 900
