"""Types that use themselves, aliases, and hints that are text."""

import sys
from dataclasses import dataclass, field
from datetime import date
from typing import Self, TypedDict

import pytest
from typing_extensions import TypeAliasType

from tools_core import tool


class Node(TypedDict):
    value: int
    children: list["Node"]


@dataclass
class Tree:
    day: date
    children: list[Self] = field(default_factory=list)


Dates = TypeAliasType("Dates", list[date])
Json = TypeAliasType("Json", dict[str, "Json"] | list["Json"] | str | int | None)


def test_a_recursive_type_has_its_schema_in_defs(read):
    argument = read(Node)
    assert argument.schema == {"$ref": "#/$defs/Node"}
    definition = argument.tool.input_schema["$defs"]["Node"]
    assert definition["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}
    assert argument.accepts({"value": 1, "children": [{"value": 2, "children": []}]})
    assert not argument.accepts({"value": 1, "children": [{"value": 2}]})


def test_a_recursive_type_converts_at_every_depth(read):
    converted = read(Tree).convert({"day": "2026-11-20", "children": [{"day": "2026-11-21"}]})
    assert converted == Tree(date(2026, 11, 20), [Tree(date(2026, 11, 21))])


def test_two_recursive_types_of_one_name_are_kept_apart():
    def make():
        class Node(TypedDict):
            text: str
            next: "Node | None"

        return Node

    def take(a, b): ...

    take.__annotations__ = {"a": Node, "b": make()}
    schema = tool(take).input_schema
    assert schema["properties"] == {"a": {"$ref": "#/$defs/Node"}, "b": {"$ref": "#/$defs/Node2"}}
    assert schema["$defs"]["Node2"]["properties"]["text"] == {"type": "string"}


def test_a_recursive_alias_has_its_schema_in_defs(read):
    argument = read(Json)
    assert argument.schema == {"$ref": "#/$defs/Json"}
    assert argument.accepts({"a": [1, "b", None]})
    assert not argument.accepts({"a": 1.5})


@pytest.mark.skipif(sys.version_info < (3, 12), reason="not possible here: `type X = ...` needs Python 3.12")
def test_the_type_statement_is_understood():
    names = {"date": date, "TypedDict": TypedDict}
    exec(
        "type Days = list[date] | None\ndef take(a: Days): return a\n",
        names,
    )
    assert tool(names["take"]).call(a=["2026-11-20"]).output == [date(2026, 11, 20)]
