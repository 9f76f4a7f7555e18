"""Plain types, the standard library's types, and containers: their schema, and what the tool gets."""

import typing
from collections import abc
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NewType
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_core import InvalidArguments, Result, tool


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


UserId = NewType("UserId", int)
IDENTIFIER = "12345678-1234-5678-1234-567812345678"

CASES = [
    (str, {"type": "string"}, "a", "a"),
    (int, {"type": "integer"}, 3, 3),
    (float, {"type": "number"}, 1.5, 1.5),
    (None, {"type": "null"}, None, None),
    (Any, {}, {"a": [1]}, {"a": [1]}),
    (UserId, {"type": "integer"}, 7, 7),
    (list[int], {"type": "array", "items": {"type": "integer"}}, [1], [1]),
    (typing.List[int], {"type": "array", "items": {"type": "integer"}}, [1], [1]),
    (abc.Sequence[str], {"type": "array", "items": {"type": "string"}}, ["a"], ["a"]),
    (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}, [1, 2], (1, 2)),
    (
        tuple[int, date],
        {
            "type": "array",
            "minItems": 2,
            "maxItems": 2,
            "prefixItems": [{"type": "integer"}, {"type": "string", "format": "date"}],
        },
        [1, "2026-11-20"],
        (1, date(2026, 11, 20)),
    ),
    (set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}, ["a", "b"], {"a", "b"}),
    (dict, {"type": "object"}, {"a": 1}, {"a": 1}),
    (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}, {"a": 1}, {"a": 1}),
    (abc.Mapping[str, bool], {"type": "object", "additionalProperties": {"type": "boolean"}}, {}, {}),
    (
        dict[int, str],
        {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "propertyNames": {"pattern": "^(0|-?[1-9][0-9]*)$"},
        },
        {"-1": "a"},
        {-1: "a"},
    ),
    (
        dict[Color, date],
        {
            "type": "object",
            "additionalProperties": {"type": "string", "format": "date"},
            "propertyNames": {"type": "string", "enum": ["red", "blue"]},
        },
        {"red": "2026-11-20"},
        {Color.RED: date(2026, 11, 20)},
    ),
    (Color, {"type": "string", "enum": ["red", "blue"]}, "red", Color.RED),
    (Level, {"type": "integer", "enum": [1, 2]}, 2, Level.HIGH),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}, "b", "b"),
    (Literal["a", 1, True, None], {"enum": ["a", 1, True, None]}, None, None),  # noqa: PYI061
    (Literal[Color.RED, "x"], {"type": "string", "enum": ["red", "x"]}, "red", Color.RED),
    (date, {"type": "string", "format": "date"}, "2026-11-20", date(2026, 11, 20)),
    (
        datetime,
        {"type": "string", "format": "date-time"},
        "2026-11-20T14:30:00Z",
        datetime(2026, 11, 20, 14, 30, tzinfo=UTC),
    ),
    (time, {"type": "string", "format": "time"}, "14:30:00", time(14, 30)),
    (
        timedelta,
        {"type": "string", "format": "duration"},
        "P1DT1H30M",
        timedelta(days=1, hours=1, minutes=30),
    ),
    (timedelta, {"type": "string", "format": "duration"}, "-PT0.5S", timedelta(seconds=-0.5)),
    (UUID, {"type": "string", "format": "uuid"}, IDENTIFIER, UUID(IDENTIFIER)),
    (Decimal, {"type": ["number", "string"]}, "0.10", Decimal("0.10")),
    (Decimal, {"type": ["number", "string"]}, 0.1, Decimal("0.1")),
    (Path, {"type": "string", "format": "path"}, "a/b.txt", Path("a/b.txt")),
    (PurePosixPath, {"type": "string", "format": "path"}, "a", PurePosixPath("a")),
    (bytes, {"type": "string", "contentEncoding": "base64"}, "aGk=", b"hi"),
]


@pytest.mark.parametrize(("hint", "schema", "json", "python"), CASES, ids=[str(case[0]) for case in CASES])
def test_a_hint_has_this_schema_and_the_tool_gets_this_value(read, hint, schema, json, python):
    argument = read(hint)
    assert argument.schema == schema
    converted = argument.convert(json)
    assert converted == python
    assert type(converted) is type(python)


REFUSED = [
    (date, "tomorrow", 'x must be a date like 2026-11-20, got "tomorrow"'),
    (datetime, "now", 'x must be a date and time like 2026-11-20T14:30:00+01:00, got "now"'),
    (time, "25:00", 'x must be a time like 14:30:00, got "25:00"'),
    (timedelta, "1 hour", 'x must be a duration like PT1H30M, got "1 hour"'),
    (timedelta, "P1DT", 'x must be a duration like PT1H30M, got "P1DT"'),
    (UUID, "1", 'x must be a UUID like 12345678-1234-5678-1234-567812345678, got "1"'),
    (Decimal, "ten", 'x must be a decimal number like 12.50, as a string if it has more than 15 digits, got "ten"'),
    (Decimal, "NaN", 'x must be a decimal number like 12.50, as a string if it has more than 15 digits, got "NaN"'),
    (bytes, "a", 'x must be text in base64, got "a"'),
    (list[date], ["2026-11-20", "x"], 'x[1] must be a date like 2026-11-20, got "x"'),
    (tuple[int, date], [1, "x"], 'x[1] must be a date like 2026-11-20, got "x"'),
    (dict[str, date], {"odd key": "x"}, 'x["odd key"] must be a date like 2026-11-20, got "x"'),
    (dict[date, int], {"x": 1}, 'x.x must be a date like 2026-11-20, got "x"'),
]


@pytest.mark.parametrize(("hint", "json", "text"), REFUSED, ids=[str(case[:2])[:60] for case in REFUSED])
def test_a_failed_conversion_is_a_problem_with_its_path(read, hint, json, text):
    with pytest.raises(InvalidArguments) as caught:
        read(hint).convert(json)
    assert str(caught.value) == text


def test_all_problems_of_all_parameters_are_reported_at_once():
    def plan(day: date, stops: list[time], price: Decimal): ...

    with pytest.raises(InvalidArguments) as caught:
        tool(plan).call(day="x", stops=["08:00", "y", "z"], price="1").unwrap()
    assert [problem.path for problem in caught.value.problems] == ["day", "stops[1]", "stops[2]"]


@pytest.mark.parametrize(
    ("hint", "values"),
    [
        (date, st.dates()),
        (datetime, st.datetimes()),
        (time, st.times()),
        (timedelta, st.timedeltas()),
        (UUID, st.uuids()),
        (Decimal, st.decimals(allow_nan=False, allow_infinity=False)),
        (Color, st.sampled_from(Color)),
    ],
    ids=str,
)
def test_arguments_accept_values_in_the_form_of_results(read, hint, values):
    argument = read(hint)

    @given(values)
    def back_and_forth(value):
        assert argument.convert(Result.ok(value).to_dict()["output"]) == value

    back_and_forth()
