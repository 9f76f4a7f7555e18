"""TypedDict, dataclass and NamedTuple: objects with named members."""

from dataclasses import KW_ONLY, dataclass, field
from datetime import date
from enum import Enum
from typing import (
    Annotated,
    ClassVar,
    NamedTuple,
    NotRequired,
    Required,
    TypedDict,
)

import pytest

from tools_core import InvalidArguments


class Item(TypedDict):
    product: str
    count: int
    due: NotRequired[date | None]


class Loose(TypedDict, total=False):
    a: Required[int]
    b: str


class Child(Loose):
    c: Annotated[int, "The c."]


class Quoted(TypedDict):
    a: "int"
    b: "NotRequired[date]"
    c: "Annotated[NotRequired[int], 'The c.']"


class Size(Enum):
    S = "s"


@dataclass
class Order:
    day: date
    _: KW_ONLY
    size: Size = Size.S
    tags: list[str] = field(default_factory=list)
    number: int = field(default=0, init=False)
    kind: ClassVar[str] = "order"


@dataclass(frozen=True, slots=True)
class Span:
    first: int
    last: int

    def __post_init__(self):
        if self.last < self.first:
            raise ValueError("last is before first")


class Point(NamedTuple):
    x: int
    day: date = date(2026, 1, 1)
    note: str = ""


def test_a_typed_dict_stays_a_dict_with_its_members_converted(read):
    argument = read(Item)
    assert argument.schema == {
        "type": "object",
        "properties": {
            "product": {"type": "string"},
            "count": {"type": "integer"},
            "due": {"type": ["string", "null"], "format": "date"},
        },
        "required": ["product", "count"],
        "additionalProperties": False,
    }
    arguments = {"product": "a", "count": 1, "due": "2026-11-20"}
    assert argument.convert(arguments) == {**arguments, "due": date(2026, 11, 20)}
    assert argument.convert({"product": "a", "count": 1}) == {"product": "a", "count": 1}


@pytest.mark.parametrize(
    ("hint", "required"),
    [(Loose, ["a"]), (Child, ["a", "c"]), (Quoted, ["a"])],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_totality_inheritance_and_qualifiers_determine_required_members(read, hint, required):
    assert read(hint).schema["required"] == required


def test_a_dataclass_is_built(read):
    argument = read(Order)
    assert argument.schema == {
        "type": "object",
        "properties": {
            "day": {"type": "string", "format": "date"},
            "size": {"type": "string", "enum": ["s"], "default": "s"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["day"],
        "additionalProperties": False,
    }
    assert argument.convert({"day": "2026-11-20"}) == Order(date(2026, 11, 20))
    assert argument.convert({"day": "2026-11-20", "size": "s", "tags": ["a"]}).tags == ["a"]


def test_an_exception_of_post_init_is_a_problem_of_its_object(read):
    with pytest.raises(InvalidArguments) as caught:
        read(list[Span]).convert([{"first": 2, "last": 1}, {"first": 1, "last": 2}, {"first": 4, "last": 3}])
    assert [str(problem) for problem in caught.value.problems] == [
        "x[0] is invalid: last is before first",
        "x[2] is invalid: last is before first",
    ]


def test_models_see_a_named_tuple_as_an_object(read):
    argument = read(Point)
    assert argument.schema["required"] == ["x"]
    assert argument.schema["properties"]["note"] == {"type": "string", "default": ""}
    assert argument.schema["properties"]["day"] == {"type": "string", "format": "date"}
    assert argument.convert({"x": 1, "day": "2026-11-20"}) == Point(1, date(2026, 11, 20))
