from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from tools_core.schema import compile as compile_schema

OPTIONAL = {
    "type": "object",
    "properties": {"note": {"type": "string"}, "size": {"type": ["integer", "null"]}, "name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}

REPAIRS = [
    pytest.param({"type": "integer"}, "2", 2, '"2" -> 2', id="text for an integer"),
    pytest.param({"type": "number"}, "2.5", 2.5, '"2.5" -> 2.5', id="text for a number"),
    pytest.param({"type": "boolean"}, "true", True, '"true" -> true', id="text for a boolean"),
    pytest.param({"type": "boolean"}, "FALSE", False, '"FALSE" -> false', id="capitals for a boolean"),
    pytest.param({"type": "array"}, "[1, 2]", [1, 2], '"[1, 2]" -> an array of 2', id="JSON text for an array"),
    pytest.param(
        {"type": "object"}, ' {"a": 1}', {"a": 1}, '" {\\"a\\": 1}" -> an object with a', id="JSON for an object"
    ),
    pytest.param({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "2", 2, '"2" -> 2', id="an alternative"),
    pytest.param({"oneOf": [{"type": "integer"}, {"type": "null"}]}, "2", 2, '"2" -> 2', id="the one alternative"),
]


@pytest.mark.parametrize(("schema", "value", "expected", "record"), REPAIRS)
def test_lossless_repairs_are_applied_and_recorded(schema: Any, value: Any, expected: Any, record: str) -> None:
    checked = compile_schema({"properties": {"x": schema}}).check({"x": value})
    assert (checked.problems, checked.repairs) == ([], [f"x: {record}"])
    assert checked.value == {"x": expected}
    assert type(checked.value["x"]) is type(expected)


@pytest.mark.parametrize(("schema", "value", "expected", "record"), REPAIRS)
def test_repair_can_be_switched_off(schema: Any, value: Any, expected: Any, record: str) -> None:
    checked = compile_schema(schema).check(value, repair=False)
    assert len(checked.problems) == 1
    assert checked.repairs == []
    assert checked.value == value


def test_a_whole_number_becomes_an_integer_and_an_integer_stays_one() -> None:
    integer, number = compile_schema({"type": "integer"}), compile_schema({"type": "number"})
    assert (integer.check(2.0).value, integer.check(2.0).repairs) == (2, ["2.0 -> 2"])
    assert type(integer.check(2.0, repair=False).value) is int  # valid by the specification, and converted
    assert integer.check(2.0, repair=False).repairs == []
    for value in (2, 2**53 + 1, 10**400):  # an integer is a number
        checked = number.check(value)
        assert number.accepts(value)
        assert (checked.value, type(checked.value), checked.repairs) == (value, int, [])
    either = compile_schema({"type": ["integer", "number"]})
    assert type(either.check(2).value) is int
    assert type(either.check(2.0).value) is float


def test_null_for_an_optional_member_is_removed_unless_allowed() -> None:
    validator = compile_schema(OPTIONAL)
    checked = validator.check({"name": "x", "note": None, "size": None})
    assert checked.value == {"name": "x", "size": None}
    assert checked.repairs == ["note: null -> absent"]
    assert [str(problem) for problem in validator.check({"name": None}).problems] == ["name must be a string, got null"]
    assert [str(problem) for problem in validator.check({"name": "x", "note": None}, repair=False).problems] == [
        "note must be a string, got null"
    ]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("integer", "2.5"),
        ("integer", "007"),
        ("integer", "٣"),
        ("integer", True),
        ("number", "1e999"),
        ("number", "NaN"),
        ("boolean", "yes"),
        ("string", 2),
        ("array", '{"a": 1}'),
        ("array", '["\\ud800"]'),
        ("array", "[" * 100_000),
        ("array", "[" * 70 + "]" * 70),
        ("array", f"[{'0,' * 100_000}0]"),
        ("object", '{"a": 1, "a": 2}'),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_ambiguous_or_lossy_text_is_not_repaired(kind: str, value: Any) -> None:
    checked = compile_schema({"type": kind}).check(value)
    assert len(checked.problems) == 1
    assert checked.repairs == []


def test_a_matching_alternative_is_preferred_to_a_repair() -> None:
    text_first = compile_schema({"anyOf": [{"type": "integer"}, {"type": "string"}]})
    assert (text_first.check("5").value, text_first.check("5").repairs) == ("5", [])
    number_first = compile_schema({"anyOf": [{"type": "number"}, {"type": "integer"}]})
    assert type(number_first.check(5).value) is int


def test_a_repair_that_breaks_another_keyword_is_discarded() -> None:
    schema = {"properties": {"a": {"type": "string"}}, "minProperties": 1}
    checked = compile_schema(schema).check({"a": None})
    assert [str(problem) for problem in checked.problems] == ["a must be a string, got null"]
    assert checked.repairs == []


def test_nested_repairs_copy_only_changed_parts() -> None:
    line = {"type": "object", "properties": {"n": {"type": "integer"}}}
    validator = compile_schema({"properties": {"items": {"type": "array", "items": line}, "rest": {"type": "object"}}})
    value = {"items": [{"n": 1}, {"n": "2"}], "rest": {"deep": [1]}}
    before = copy.deepcopy(value)
    checked = validator.check(value)
    assert checked.value == {"items": [{"n": 1}, {"n": 2}], "rest": {"deep": [1]}}
    assert checked.repairs == ['items[1].n: "2" -> 2']
    assert value == before
    assert checked.value["rest"] is value["rest"]


def test_values_inside_repaired_json_text_are_repaired_too() -> None:
    validator = compile_schema({"properties": {"xs": {"type": "array", "items": {"type": "integer"}}}})
    checked = validator.check({"xs": json.dumps(["1", 2])})
    assert checked.value == {"xs": [1, 2]}
    assert checked.repairs == ['xs: "[\\"1\\", 2]" -> an array of 2', 'xs[0]: "1" -> 1']
