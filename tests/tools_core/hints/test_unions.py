"""Optional values and unions."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Annotated, Literal, Optional, Union

import pytest
from annotated_types import Ge

from tools_core import InvalidArguments


class Color(Enum):
    RED = "red"


@dataclass
class Cat:
    kind: Literal["cat"]
    born: date


@dataclass
class Dog:
    kind: Literal["dog"]
    born: date


SCHEMAS = [
    (int | None, {"type": ["integer", "null"]}),
    (Optional[str], {"type": ["string", "null"]}),
    (Union[int, str], {"type": ["integer", "string"]}),
    (int | str | None, {"type": ["integer", "string", "null"]}),
    (date | None, {"type": ["string", "null"], "format": "date"}),
    (Decimal | None, {"type": ["number", "string", "null"]}),
    (Annotated[int, Ge(1)] | None, {"type": ["integer", "null"], "minimum": 1}),
    (Literal["a"] | None, {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]}),
    (
        list[int] | None,
        {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]},
    ),
    (date | int, {"anyOf": [{"type": "string", "format": "date"}, {"type": "integer"}]}),
]


@pytest.mark.parametrize(("hint", "schema"), SCHEMAS, ids=str)
def test_a_choice_has_this_schema(read, hint, schema):
    assert read(hint).schema == schema


VALUES = [
    (date | None, None, None),
    (date | None, "2026-11-20", date(2026, 11, 20)),
    (date | int, "2026-11-20", date(2026, 11, 20)),
    (date | str, "tomorrow", "tomorrow"),
    (str | date, "2026-11-20", "2026-11-20"),
    (Color | int | None, "red", Color.RED),
    (list[date] | date, ["2026-11-20"], [date(2026, 11, 20)]),
    (Cat | Dog, {"kind": "dog", "born": "2026-11-20"}, Dog("dog", date(2026, 11, 20))),
    (date | float, 3, 3),
]


@pytest.mark.parametrize(("hint", "json", "python"), VALUES, ids=str)
def test_the_first_branch_that_fits_converts(read, hint, json, python):
    assert read(hint).convert(json) == python


def test_a_failed_union_reports_the_problems_of_the_first_matching_branch(read):
    with pytest.raises(InvalidArguments, match='x must be a date like 2026-11-20, got "soon"'):
        read(int | date | Decimal | None).convert("soon")


def test_the_branches_of_a_union_may_be_recursive(read):
    argument = read(Node | date | None)
    assert argument.convert({"born": "2026-11-20", "next": None}) == Node(date(2026, 11, 20), None)


@dataclass
class Node:
    born: date
    next: "Node | None"
