"""Thousands of definitions that people wrote, in every format."""

from __future__ import annotations

from itertools import chain

import pytest
from jsonschema import Draft202012Validator

from tools_core._jsonschema import compile_schema
from tools_core.formats import FORMATS, legal_names

pytestmark = pytest.mark.slow

REWRITTEN = ["gemini", "openai-strict"]  # `responses-strict` writes the same schemas


def name_of(written):
    return written.get("function", written)["name"]


@pytest.mark.parametrize("name", FORMATS)
def test_no_two_names_meet_and_each_finds_its_way_back(name, real_definitions, answer):
    for definitions in real_definitions:
        written = FORMATS[name].definitions(definitions)
        names = [name_of(each) for each in written]
        assert len(set(names)) == len(definitions)
        assert max(map(len, names)) <= 64
        calls = FORMATS[name].calls(answer(name, [(str(n), each, {}) for n, each in enumerate(names)]), definitions)
        assert [call.name for call in calls] == [definition["name"] for definition in definitions]
        assert [call.id for call in calls] == [str(n) for n in range(len(names))]


def test_names_do_not_depend_on_the_order(real_definitions):
    names = [definition["name"] for definition in real_definitions[0]]
    for name in FORMATS:
        assert legal_names(reversed(names), name) == legal_names(names, name)


@pytest.mark.parametrize("name", REWRITTEN)
def test_arguments_come_back_as_they_were_meant(name, real_definitions, model, parameters_of, answer):
    tried = 0
    for definition in chain.from_iterable(real_definitions):
        [written] = FORMATS[name].definitions([definition])
        schema = parameters_of(name, written)
        theirs = model(definition["input_schema"], 1)
        given = theirs.sample(definition["input_schema"])
        if not theirs.is_valid(given, definition["input_schema"]):
            continue
        tried += 1
        sent = model(schema, 1).write_arguments(given)
        assert Draft202012Validator(schema).is_valid(sent), (given, schema)
        [call] = FORMATS[name].calls(answer(name, [("1", name_of(written), sent)]), [definition])
        assert call.arguments == given, definition
        assert compile_schema(definition["input_schema"]).check(call.arguments, repair=False).problems == []
    assert tried > 3_300


@pytest.mark.parametrize("name", REWRITTEN)
def test_what_the_dialect_allows_the_tool_takes(name, real_definitions, model, parameters_of, answer):
    for definition in chain.from_iterable(real_definitions):
        [written] = FORMATS[name].definitions([definition])
        schema = parameters_of(name, written)
        sent = model(schema, 2).sample(schema)
        assert Draft202012Validator(schema).is_valid(sent), (sent, schema)
        [call] = FORMATS[name].calls(answer(name, [("1", name_of(written), sent)]), [definition])
        judge = Draft202012Validator(definition["input_schema"])
        assert [error.message for error in judge.iter_errors(call.arguments)] == [], (sent, definition)
