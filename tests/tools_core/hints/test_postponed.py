"""Hints under `from __future__ import annotations`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Annotated, NamedTuple, NotRequired, TypedDict

import pytest

from tools_core import Context, DefinitionError, tool

if TYPE_CHECKING:
    from fractions import Fraction


class Item(TypedDict):
    name: Annotated[str, "The name."]
    day: NotRequired[date]


@dataclass
class Order:
    items: list[Item]
    parent: Order | None = None


class Pair(NamedTuple):
    left: date
    right: date | None = None


def test_postponed_hints_are_evaluated_at_every_level():
    def place(order: Order, pair: Pair | None, context: Context) -> Order:
        return order

    new_tool = tool(place)
    assert new_tool.takes_context
    item = {"name": "a", "day": "2026-11-20"}
    result = new_tool.call(order={"items": [item], "parent": {"items": []}}, pair=None)
    assert result.output == Order([{"name": "a", "day": date(2026, 11, 20)}], Order([]))
    schema = new_tool.input_schema["$defs"]["Order"]["properties"]["items"]["items"]
    assert schema["required"] == ["name"]
    assert schema["properties"]["name"]["description"] == "The name."


def test_a_name_that_cannot_be_found_is_refused_with_the_fix():
    def create():
        class Local(TypedDict):
            day: date

        def take(x: list[Local]) -> None: ...

        return take

    text = (
        r"take: the parameter `x`: the name `Local` in the hint 'list\[Local\]' is not defined; "
        "define or import `Local` at the top of the module, not in a function or `if TYPE_CHECKING:`"
    )
    with pytest.raises(DefinitionError, match=text):
        tool(create())  # when the function around it has ended


def test_a_return_type_that_cannot_be_found_does_no_harm():
    def take(x: int) -> Fraction: ...

    signature = tool(take)
    assert signature.input_schema["properties"] == {"x": {"type": "integer"}}
    assert signature.output_schema is None


def test_a_hint_with_a_syntax_error_is_refused():
    def take(x): ...

    take.__annotations__ = {"x": "a list of numbers"}
    with pytest.raises(
        DefinitionError, match="take: the parameter `x`: the hint 'a list of numbers' cannot be evaluated"
    ):
        tool(take)
