from __future__ import annotations

import cProfile
import json
from typing import Any

import pytest

from tools_core.schema import compile as compile_schema

DAY = {"type": "string", "description": "such as Monday"}
CLOSED = {
    "type": "object",
    "properties": {"day": DAY, "count": {"type": "integer", "minimum": 1}, "unit": {"enum": ["C", "F"]}},
    "required": ["day"],
    "additionalProperties": False,
}
LINE = {"type": "object", "properties": {"quantity": {"type": "integer"}}, "required": ["quantity"]}
ORDER = {"type": "object", "properties": {"items": {"type": "array", "items": LINE}, "ship": CLOSED}}


def problems(schema: Any, value: Any, **options: Any) -> list[str]:
    return [str(problem) for problem in compile_schema(schema).check(value, **options).problems]


def test_all_problems_are_reported_at_once_in_the_order_of_the_schema() -> None:
    assert problems(CLOSED, {"unit": "K", "count": 0, "wat": 1}) == [
        "day is required: a string",
        "count must be at least 1, got 0",
        'unit must be one of "C", "F", got "K"',
        'unknown argument "wat": expected day, count, unit',
    ]


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        ({"type": "integer"}, "two", 'must be an integer, got "two"'),
        ({"type": ["integer", "null"]}, [1], "must be an integer or null, got an array of 1"),
        ({"type": "boolean"}, 1, "must be true or false, got 1"),
        ({"type": "array", "items": {"type": "string"}}, {}, "must be an array, got an empty object"),
        ({"const": "C"}, "F", 'must be "C", got "F"'),
        ({"maxLength": 1}, "ab", "must have at most 1 character, got 2"),
        ({"minProperties": 1}, {}, "must have at least 1 member, got 0"),
        ({"pattern": "^a+$"}, "b", 'must match the pattern "^a+$", got "b"'),
        ({"exclusiveMaximum": 3}, 3, "must be below 3, got 3"),
        ({"multipleOf": 0.25}, 0.3, "must be a multiple of 0.25, got 0.3"),
        ({"uniqueItems": True}, [1, 1.0], "must not have equal items, got an array of 2"),
        ({"not": {"type": "string"}}, "a", 'must not be a string, got "a"'),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, 'b is required when "a" is given'),
        ({"properties": {"a": False}}, {"a": 1}, "a is not allowed"),
        (
            {"propertyNames": {"maxLength": 1}},
            {"ab": 1},
            'must not have a member named "ab": a name must have at most 1',
        ),
        ({"oneOf": [{"type": "integer"}, {"minimum": 1}]}, 2, "must match exactly one alternative, matches 2"),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, None, "must be an integer or a string, got null"),
        ({"$ref": "#/$defs/n", "$defs": {"n": {"type": "number"}}}, "x", 'must be a number, got "x"'),
    ],
)
def test_a_problem_has_the_expected_and_the_actual_value(schema: Any, value: Any, text: str) -> None:
    (problem,) = problems(schema, value)
    assert problem.startswith(text)


def test_a_problem_has_the_path_of_the_wrong_part() -> None:
    assert problems(ORDER, {"items": [{"quantity": 1}, {"quantity": "two"}, {}]}) == [
        'items[1].quantity must be an integer, got "two"',
        "items[2].quantity is required: an integer",
    ]
    assert problems({"additionalProperties": {"type": "null"}}, {"odd key": 1}) == ['["odd key"] must be null, got 1']


def test_an_unknown_member_gets_the_most_similar_name() -> None:
    assert problems(CLOSED, {"day": "Monday", "dayz": 1, "conut": 2}) == [
        'unknown argument "dayz": expected day, count, unit',  # day is already present
        'unknown argument "conut": did you mean "count"?',
    ]
    assert problems(ORDER, {"ship": {"day": "Monday", "untl": "C"}}) == [
        'ship has no member "untl"; did you mean "unit"?'
    ]
    assert problems(ORDER, {"ship": {"day": "Monday", "x": "C"}}) == [
        'ship has no member "x"; expected day, count, unit'
    ]
    assert problems({"additionalProperties": False}, {"x": 1}) == ['unknown argument "x": none are expected']


def test_the_intended_alternative_is_explained() -> None:
    optional = {"anyOf": [LINE, {"type": "null"}]}
    assert problems(optional, {"quantity": "x"}) == ['quantity must be an integer, got "x"']
    cat = {
        "type": "object",
        "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}},
        "required": ["kind"],
    }
    dog = {
        "type": "object",
        "properties": {"kind": {"const": "dog"}, "tricks": {"type": "array"}},
        "required": ["kind"],
    }
    assert problems({"anyOf": [cat, dog]}, {"kind": "dog", "tricks": 3}) == ["tricks must be an array, got 3"]
    assert problems({"oneOf": [cat, dog]}, {"kind": "cow"}) == ['kind must be one of "cat", "dog", got "cow"']
    assert problems({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {}) == [
        "matches none of the 2 alternatives: a is required; b is required"
    ]


def test_choices_are_listed_whole_up_to_200_characters() -> None:
    zones = [f"Region/City_{n:02}" for n in range(50)]
    [text] = problems({"properties": {"zone": {"enum": zones[:10]}}}, {"zone": "x"})
    assert text == f'zone must be one of {", ".join(map(json.dumps, zones[:10]))}, got "x"'
    [text] = problems({"properties": {"zone": {"enum": zones}}}, {"zone": "x"})
    assert text == f'zone must be one of {", ".join(map(json.dumps, zones[:11]))} and 39 more, got "x"'
    paths = [f"/projects/department/team/{name}/configuration.yaml" for name in ("alpha", "beta")]
    [text] = problems({"properties": {"file": {"enum": paths}}}, {"file": "x"})
    assert text == f'file must be one of "{paths[0]}", "{paths[1]}", got "x"'


def test_the_most_similar_choices_come_first_if_not_all_fit() -> None:
    zones = [*(f"Region/City_{n:02}" for n in range(50)), "Europe/Oslo", "Europe/Oslo_West"]
    [text] = problems({"properties": {"zone": {"enum": zones}}}, {"zone": "europe/olso"})
    assert text.startswith('zone must be one of "Europe/Oslo", "Europe/Oslo_West", "Region/City_00", ')
    assert text.endswith(' more, got "europe/olso"')


def test_at_most_a_hundred_problems_are_collected() -> None:
    assert len(problems({"items": {"type": "integer"}}, ["x"] * 1000)) == 100
    many = {f"k{n}": {"type": "integer"} for n in range(300)}
    wide = {"type": "object", "properties": many, "required": list(many), "additionalProperties": False}
    assert len(problems(wide, {})) == len(problems(wide, dict.fromkeys(many, "x"))) == 100
    assert len(problems(CLOSED, {"day": "x"} | {f"k{n}": n for n in range(1000)})) == 100


@pytest.mark.parametrize("keyword", ["items", "additionalProperties"])
def test_a_hundred_problems_end_the_check(keyword: str) -> None:
    validator = compile_schema({keyword: {"type": "integer"}})

    def calls(size: int) -> int:
        names = [f"x{n}" for n in range(size)]
        profile = cProfile.Profile(builtins=False)
        profile.runcall(validator.check, names if keyword == "items" else dict.fromkeys(names, "x"))
        return sum(entry.callcount for entry in profile.getstats())

    calls(1)  # compiles the schema
    assert calls(1_000) == calls(2_000)


@pytest.mark.parametrize(
    "value",
    [
        {"x" * 10_000: "y" * 10_000},
        {"unit": "\n\x00\x1b" * 10_000},
        {"day": 10**5_000},
        {"day": {"k" * 1_000: 1}},
        {"day": "ok", "\ud800" * 50: 1},
        {"day": "\ud800" * 50},
        [{"a": [1]}] * 1_000,
    ],
    ids=range(7),
)
def test_messages_are_one_line_of_at_most_400_characters(value: Any) -> None:
    texts = problems(CLOSED, value) + problems({"items": CLOSED, "additionalProperties": CLOSED}, [value])
    assert texts
    for text in texts:
        assert 0 < len(text) <= 400
        assert text.isprintable()
        text.encode()
