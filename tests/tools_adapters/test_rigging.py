"""`StrictToolset`: its records, its calls and its TypeErrors."""

import doctest
import re
from pathlib import Path
from typing import Annotated

import pytest

import tools_adapters.rigging
from tools_adapters.rigging import (
    StrictToolset,
    ToolDescription,
    ToolFunction,
    ToolParameter,
)
from tools_core import ToolCall


class Hammer(StrictToolset):
    name = "Hammer"
    description = "A tool for hitting things."

    def hit(self, target: Annotated[str, "Target of the hit"], times: Annotated[int, "Number of hits"] = 1) -> str:
        """Hit something."""
        return f"Hit {target} with a hammer." * times

    def check(self, loud: Annotated[bool, "With noise?"], weight: Annotated[float, "In kg"] = 1.0) -> str:
        return f"{loud} {weight}"


def test_the_description_lists_functions_by_name_with_types_and_texts():
    assert Hammer().get_description() == ToolDescription(
        "Hammer",
        "A tool for hitting things.",
        [
            ToolFunction(
                "check", "", [ToolParameter("loud", "bool", "With noise?"), ToolParameter("weight", "float", "In kg")]
            ),
            ToolFunction(
                "hit",
                "Hit something.",
                [ToolParameter("target", "str", "Target of the hit"), ToolParameter("times", "int", "Number of hits")],
            ),
        ],
    )


@pytest.mark.parametrize("name", ["hit", "Hammer.hit", "Hammer_hit"])
def test_execute_answers_a_call_by_the_functions_name(name):
    result = Hammer().execute(ToolCall("1", name, {"target": "nail"}))
    assert result.content == "Hit nail with a hammer."
    assert result.metadata == {"tool": "Hammer", "function": "hit"}


def test_execute_reads_text_by_the_declared_type():
    execute = Hammer().execute
    assert execute(ToolCall("1", "hit", {"target": 5, "times": "2"})).content == "Hit 5 with a hammer." * 2
    assert execute(ToolCall("1", "check", {"loud": "false", "weight": "0"})).content == "False 0.0"
    assert execute(ToolCall("1", "check", '{"loud": true}')).content == "True 1.0"


def test_execute_never_raises():
    execute = Hammer().execute
    assert execute(ToolCall("1", "miss")).error == "Function 'miss' does not exist on 'Hammer'"
    assert 'unknown argument "tarket"' in execute(ToolCall("1", "hit", {"tarket": "x"})).error
    assert "target is required" in execute(ToolCall("1", "hit")).error
    assert "times must be an integer" in execute(ToolCall("1", "hit", {"target": "x", "times": "often"})).error
    assert not execute(ToolCall("1", "hit", "{")).ok


def define(**functions):
    return type("Bad", (StrictToolset,), {"name": "Bad", "description": "Bad.", **functions})


def no_return(self, x: Annotated[int, "x"]): ...
def returns_int(self) -> int: ...
def args(self, *args: Annotated[int, "x"]) -> str: ...
def kwargs(self, **kwargs: Annotated[int, "x"]) -> str: ...
def positional(self, x: Annotated[int, "x"], /) -> str: ...
def untyped(self, x) -> str: ...
def bare(self, x: int) -> str: ...
def two_extras(self, x: Annotated[int, "x", "y"]) -> str: ...
def no_text(self, x: Annotated[int, 5]) -> str: ...
def wrong_type(self, x: Annotated[list, "x"]) -> str: ...
def optional(self, x: Annotated[int | None, "x"]) -> str: ...


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (no_return, r"Functions must have return type hints \(no_return\)"),
        (returns_int, r"Functions must return strings \(returns_int\)"),
        (args, r"Parameters must be positional or keyword \(args#args\)"),
        (kwargs, r"Parameters must be positional or keyword \(kwargs#kwargs\)"),
        (positional, r"Parameters must be positional or keyword \(positional#x\)"),
        (untyped, r"Parameters must have type hints \(untyped#x\)"),
        (bare, r'Parameters must be annotated like Annotated\[<type>, "<description>"\] \(bare#x\)'),
        (two_extras, r'Parameters must be annotated like Annotated\[<type>, "<description>"\] \(two_extras#x\)'),
        (no_text, r'Parameters must be annotated like Annotated\[<type>, "<description>"\] \(no_text#x\)'),
        (wrong_type, r"Parameters must be annotated with one of these types: .* \(wrong_type#x\)"),
        (optional, r"Parameters must be annotated with one of these types: .* \(optional#x\)"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_each_rule_has_its_type_error_raised_at_definition(function, message):
    with pytest.raises(TypeError, match=message):
        define(**{function.__name__: function})


def test_name_and_description_are_required_and_may_be_keywords():
    def bump(self) -> str: ...

    with pytest.raises(TypeError, match="must define 'description'"):
        type("NoText", (StrictToolset,), {"name": "x", "bump": bump})
    with pytest.raises(TypeError, match="must define 'name'"):
        type("NoName", (StrictToolset,), {"description": "x", "bump": bump})
    with pytest.raises(TypeError, match="must define 'name'"):
        type("Empty", (StrictToolset,), {"name": "", "description": "x", "bump": bump})

    class Saw(StrictToolset, name="Saw", description="Cuts."):
        def cut(self) -> str:
            return "cut"

    assert Saw().get_description()[:2] == ("Saw", "Cuts.")


def test_inherited_functions_count_and_private_and_class_methods_do_not():
    class Ham(Hammer):  # the prefix of its parent's name once confused the original
        name = "Ham"

        def _hidden(self) -> str: ...

        @classmethod
        def make(cls) -> str: ...

        @staticmethod
        def weigh(kilos: Annotated[float, "Weight"]) -> str:
            return str(kilos)

    assert [function.name for function in Ham().get_description().functions] == ["check", "hit", "weigh"]
    assert Ham().execute(ToolCall("1", "weigh", {"kilos": 2})).content == "2.0"


def test_string_annotations_are_resolved():
    namespace = {"StrictToolset": StrictToolset}
    exec(
        "from __future__ import annotations\nfrom typing import Annotated\n"
        "class Late(StrictToolset, name='Late', description='Late.'):\n"
        "    def f(self, x: Annotated[int, 'a number']) -> str: return str(x)\n",
        namespace,
    )
    assert namespace["Late"]().get_description().functions[0].parameters == [ToolParameter("x", "int", "a number")]


def test_the_example_in_the_docstring_works():
    assert doctest.testmod(tools_adapters.rigging).failed == 0


def test_the_documented_example_prints_its_output(capsys):
    page = (Path(__file__).parents[2] / "docs/adapters.md").read_text(encoding="utf-8")
    (block,) = re.findall(
        r"^```python\n((?:(?!```).)*?tools_adapters\.rigging.*?)^```$", page, re.DOTALL | re.MULTILINE
    )
    exec(block, {"__name__": "example"})
    assert capsys.readouterr().out.splitlines() == re.findall(r"^#> (.*)$", block, re.MULTILINE)


def test_name_and_description_may_be_properties():
    class Store(StrictToolset):
        def __init__(self, city: str) -> None:
            self.city = city

        @property
        def name(self) -> str:
            return f"store_{self.city}"

        @property
        def description(self) -> str:
            return f"The store in {self.city}."

        def stock(self, item: Annotated[str, "Its name"]) -> str:
            return f"{item} in {self.city}"

    store = Store("oslo")
    assert store.get_description()[:2] == ("store_oslo", "The store in oslo.")
    assert store.execute(ToolCall("1", "store_oslo_stock", {"item": "nails"})).content == "nails in oslo"
