"""Every Python value gets an answer: there is no exception, and the value is not changed."""

from __future__ import annotations

import math
from collections import OrderedDict, namedtuple
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Any

import pytest

from tools_core.schema import Validator
from tools_core.schema import compile as compile_schema

TREE = {"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": False}
ANYTHING = compile_schema(True)
OBJECT = compile_schema(
    {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "x": {"type": "number"}, "s": {"type": "string"}, "any": {}},
        "additionalProperties": False,
    }
)


class Color(StrEnum):
    RED = "red"


class Size(IntEnum):
    BIG = 3


def messages(validator: Validator, value: Any) -> list[str]:
    return [str(problem) for problem in validator.check(value).problems]


def nested(depth: int, wrap: Any = lambda inner: [inner]) -> Any:
    value: Any = wrap(None)
    for _ in range(depth - 1):
        value = wrap(value)
    return value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"x": math.nan}, "x must be a finite number, got NaN"),
        ({"s": "\ud800"}, "s must not contain lone surrogates"),
        ({"any": ["\udfff"]}, "any[0] must not contain lone surrogates"),
        ({"any": {"\udfff": 1}}, 'any must have text without lone surrogates as member names, got "\\udfff"'),
        ({"any": {1, 2}}, "any must be JSON, got a set"),
        ({"any": b"x"}, "any must be JSON, got bytes"),
        ({"n": Decimal(1)}, "n must be JSON, got a Decimal"),
        ({"any": {1: 2}}, "any must have text without lone surrogates as member names, got 1"),
    ],
)
def test_a_non_json_value_is_one_problem(value: Any, text: str) -> None:
    assert messages(OBJECT, value) == [text]
    assert not OBJECT.accepts(value)


def test_values_that_are_not_json_do_not_hide_other_problems() -> None:
    assert messages(OBJECT, {"x": math.nan, "n": "two", "any": {3}, "m": 1}) == [
        "x must be a finite number, got NaN",
        "any must be JSON, got a set",
        'n must be an integer, got "two"',
        'unknown argument "m": expected n, x, s, any',
    ]


def test_subclasses_of_json_types_become_the_exact_types() -> None:
    point = namedtuple("point", "x y")  # noqa: PYI024
    value = OrderedDict(s=Color.RED, n=Size.BIG, any=point(1, (2, Color.RED)))
    checked = OBJECT.check(value)
    assert (checked.problems, checked.repairs) == ([], [])
    assert checked.value == {"s": "red", "n": 3, "any": [1, [2, "red"]]}
    assert [type(part) for part in checked.value.values()] == [str, int, list]
    assert type(checked.value) is dict
    assert not OBJECT.accepts(value)


@pytest.mark.parametrize("number", [10**400, -(10**5_000), 2**64], ids=["400 digits", "5000 digits", "64 bits"])
def test_integers_of_any_size_are_numbers(number: int) -> None:
    assert OBJECT.accepts({"n": number})
    for keywords in ({"minimum": 0.5}, {"maximum": 1e300}, {"multipleOf": 0.1}, {"multipleOf": 3}, {"enum": [1.5]}):
        compile_schema(keywords).check(number)
        compile_schema(keywords).accepts(number)


@pytest.mark.parametrize(
    "schema", [True, {"type": "array"}, {"items": {"$ref": "#"}}, {"uniqueItems": True}, {"enum": [[]]}]
)
def test_excessive_depth_is_reported_without_a_crash(schema: Any) -> None:
    validator = compile_schema(schema)
    deep = nested(100_000)
    assert any(text.endswith("is nested too deeply (limit 64)") for text in messages(validator, deep))
    assert not validator.accepts(deep)
    while deep:  # freeing all levels at once may overflow the stack
        deep = deep.pop()


@pytest.mark.parametrize(
    ("schema", "wrap"),
    [(True, lambda inner: [inner]), (TREE, lambda inner: {"next": inner} if inner is not None else {})],
    ids=["free-form", "recursive"],
)
def test_the_limit_of_depth_is_exact(schema: Any, wrap: Any) -> None:
    validator = compile_schema(schema)
    assert messages(validator, nested(64, wrap)) == []
    assert "is nested too deeply (limit 64)" in messages(validator, nested(65, wrap))[0]
    assert validator.accepts(nested(50, wrap))
    assert not validator.accepts(nested(65, wrap))


def test_a_list_or_dict_that_contains_itself_is_a_problem() -> None:
    loop: list[Any] = [1]
    loop += [loop, loop]
    assert messages(ANYTHING, loop) == ["[1] must not contain itself", "[2] must not contain itself"]
    table: dict[str, Any] = {}
    table["any"] = table
    assert messages(OBJECT, table) == ["any must not contain itself"]
    assert not ANYTHING.accepts(loop)
    assert not OBJECT.accepts(table)


def test_recursive_alternatives_are_checked_in_linear_time() -> None:
    def operation(name: str, tag: dict[str, Any]) -> dict[str, Any]:
        sides = {side: {"$ref": "#"} for side in ("left", "right")}
        properties = {**sides, name: tag}
        return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}

    leaf = {"type": "integer"}
    tagged = [operation("op", {"const": "add"}), operation("op", {"const": "times"}), leaf]
    untagged = [operation("op", {"type": "string"}), operation("op", {"type": "integer"}), leaf]
    for branches in (tagged, untagged):
        value: Any = 1
        for depth in range(1, 41):
            value = {"left": value, "right": 2, "op": "times" if branches is tagged else depth}
        validator = compile_schema({"anyOf": branches})
        assert validator.accepts(value)
        assert messages(validator, value) == []
        value["left"]["left"]["op"] = 1.5
        assert not validator.accepts(value)
        assert messages(validator, value)
