"""Types that use themselves, aliases, and hints that are text."""

import sys
from dataclasses import dataclass, field
from datetime import date
from typing import Generic, NamedTuple, Self, TypeAlias, TypedDict, TypeVar

import pytest
from typing_extensions import TypeAliasType

from tools_core._definition._define import define

T = TypeVar("T")


class Node(TypedDict):
    value: int
    children: list["Node"]


@dataclass
class Tree:
    day: date
    children: list[Self] = field(default_factory=list)


@dataclass
class Left:
    right: "Right | None"


@dataclass
class Right:
    left: Left | None


class Link(NamedTuple):
    value: int
    next: "Link | None" = None


class Chain(TypedDict, Generic[T]):
    value: T
    next: "Chain[T] | None"


Alias: TypeAlias = "list[date]"
Dates = TypeAliasType("Dates", list[date])
Several = TypeAliasType("Several", list[T], type_params=(T,))
Json = TypeAliasType("Json", dict[str, "Json"] | list["Json"] | str | int | None)


def test_a_recursive_type_has_its_schema_in_defs(read):
    argument = read(Node)
    assert argument.schema == {"$ref": "#/$defs/Node"}
    definition = argument.signature.input_schema["$defs"]["Node"]
    assert definition["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}
    assert argument.accepts({"value": 1, "children": [{"value": 2, "children": []}]})
    assert not argument.accepts({"value": 1, "children": [{"value": 2}]})


def test_a_recursive_type_converts_at_every_depth(read):
    converted = read(Tree).convert({"day": "2026-11-20", "children": [{"day": "2026-11-21"}]})
    assert converted == Tree(date(2026, 11, 20), [Tree(date(2026, 11, 21))])


def test_types_may_use_each_other(read):
    assert read(Left).convert({"right": {"left": {"right": None}}}) == Left(Right(Left(None)))


def test_two_uses_of_a_recursive_type_share_one_definition():
    def take(a: Node, b: list[Node]): ...

    assert list(define(take).input_schema["$defs"]) == ["Node"]


def test_two_recursive_types_of_one_name_are_kept_apart():
    def make():
        class Node(TypedDict):
            text: str
            next: "Node | None"

        return Node

    def take(a, b): ...

    take.__annotations__ = {"a": Node, "b": make()}
    schema = define(take).input_schema
    assert schema["properties"] == {"a": {"$ref": "#/$defs/Node"}, "b": {"$ref": "#/$defs/Node2"}}
    assert schema["$defs"]["Node2"]["properties"]["text"] == {"type": "string"}


def test_a_named_tuple_may_be_recursive(read):
    assert read(Link).convert({"value": 1, "next": {"value": 2}}) == Link(1, Link(2))


def test_a_generic_recursive_type_is_filled_in_all_the_way(read):
    converted = read(Chain[date]).convert({"value": "2026-11-20", "next": {"value": "2026-11-21", "next": None}})
    assert converted["next"]["value"] == date(2026, 11, 21)


def test_a_type_that_is_used_twice_but_not_by_itself_is_written_out(read):
    class Point(TypedDict):
        x: int

    assert "$defs" not in read(tuple[Point, Point]).signature.input_schema


@pytest.mark.parametrize("hint", [Alias, Dates, Several[date], "list[date]"], ids=str)
def test_an_alias_is_what_it_stands_for(read, hint):
    def take(x): ...

    take.__annotations__ = {"x": hint}
    signature = define(take)
    assert signature.convert({"x": ["2026-11-20"]}) == {"x": [date(2026, 11, 20)]}


def test_a_recursive_alias_has_its_schema_in_defs(read):
    argument = read(Json)
    assert argument.schema == {"$ref": "#/$defs/Json"}
    assert argument.accepts({"a": [1, "b", None]})
    assert not argument.accepts({"a": 1.5})


@pytest.mark.skipif(sys.version_info < (3, 12), reason="not possible here: `type X = ...` needs Python 3.12")
def test_the_type_statement_and_type_parameters_are_understood():
    names = {"date": date, "TypedDict": TypedDict}
    exec(  # noqa: S102
        "type Days = list[date] | None\n"
        "type Pair[T] = tuple[T, T]\n"
        "class Box[T](TypedDict):\n    content: T\n"
        "def take[N: int](a: Days, b: Pair[date], c: Box[N], d: 'N'): ...\n",
        names,
    )
    signature = define(names["take"])
    properties = signature.input_schema["properties"]
    assert properties["c"]["properties"] == {"content": {"type": "integer"}}
    assert properties["d"] == {"type": "integer"}
    assert signature.convert({"a": ["2026-11-20"], "b": ["2026-11-20"] * 2}) == {
        "a": [date(2026, 11, 20)],
        "b": (date(2026, 11, 20),) * 2,
    }
