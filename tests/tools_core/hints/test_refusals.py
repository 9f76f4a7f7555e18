"""A function that cannot be a tool is refused when it is defined, with the function, the parameter and a fix."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Literal, Never, TypedDict

import pytest

from tools_core import Context, DefinitionError, Tool, tool

NO_JSON = "cannot be created from JSON"
VALUES = "give its members strings or numbers as values"
NO_FUNCTIONS = "JSON has no functions: take a name as a str, and look the function up"
USABLE = (
    "use str, int, float, bool, list, dict, Literal, Enum, date, datetime, Path, UUID, Decimal, TypedDict, "
    "a dataclass, or a class of attrs, msgspec or pydantic"
)


class Thing: ...


class Empty(Enum): ...


class Objects(Enum):
    A = object()


class Holder(TypedDict):
    things: "list[Thing]"


@dataclass
class Outer:
    holder: Holder


@pytest.mark.parametrize(
    ("hint", "reason"),
    [
        (Thing, f"Thing {NO_JSON}; {USABLE}"),
        (Outer, f"field `holder` of Outer: field `things` of Holder: Thing {NO_JSON}; {USABLE}"),
        (
            Callable[[int], str],
            f"Callable[[int], str] {NO_JSON}; {NO_FUNCTIONS}",
        ),
        (type[int], f"type[int] {NO_JSON}; JSON has no classes: take a name as a str or a Literal"),
        (Iterator[int], f"Iterator[int] {NO_JSON}; take a list; a result may be a generator"),
        (Counter[str], f"Counter[str] {NO_JSON}; use dict[str, int]"),
        (complex, f"complex {NO_JSON}; take two floats"),
        (Never, f"Never {NO_JSON}; {USABLE}"),
        (5, f"5 {NO_JSON}; {USABLE}"),
        (dict[float, int], "float cannot be a key of a JSON object; use str"),
        (set[list[int]], "a set cannot hold list[int], which has no hash; use a list"),
        (Empty, f"Empty has no members; {VALUES}"),
        (Objects, f"Objects has a member that is not a JSON value; {VALUES}"),
        (Literal[b"a"], f"Literal[b'a'] has a member that is not a JSON value; {VALUES}"),
    ],
    ids=str,
)
def test_a_hint_that_json_cannot_fill_is_refused(hint, reason):
    def take(x): ...

    take.__annotations__ = {"x": hint}
    with pytest.raises(DefinitionError) as caught:
        tool(take)
    assert str(caught.value) == f"take: the parameter `x`: {reason}"


def test_a_parameter_without_a_hint_is_refused():
    def take(x, y=None): ...

    with pytest.raises(
        DefinitionError, match="take: the parameter `x`: it has no type hint; add one, as in `count: int`"
    ):
        tool(take)
    with pytest.raises(DefinitionError, match="`y`: it has no type hint"):
        tool(lambda y=None: y)


def test_arguments_by_position_are_refused():
    def many(*names: str): ...
    def first(x: int, y: int, /): ...

    with pytest.raises(DefinitionError, match=r"many: arguments are passed by name, .*write `names: list\[str\]`"):
        tool(many)
    with pytest.raises(DefinitionError, match=r"first: .*`x` is positional-only; remove the `/`"):
        tool(first)


def test_a_second_context_is_refused():
    def take(a: Context, b: Context): ...

    with pytest.raises(DefinitionError, match="take: the parameter `b`: is a second Context beside `a`; keep one"):
        tool(take)


def test_a_builtin_without_a_signature_is_refused():
    with pytest.raises(
        DefinitionError, match="its parameters cannot be read; write a function with type hints around it"
    ):
        tool(max)


def test_the_name_of_a_method_has_its_class():
    with pytest.raises(DefinitionError, match=r"^Weather\.execute: the parameter `x`"):

        class Weather(Tool):
            def execute(self, x: Thing): ...
