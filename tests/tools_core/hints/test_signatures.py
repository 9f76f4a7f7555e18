"""From a function to input schema, output schema, description and context."""

import functools
from dataclasses import dataclass
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Annotated, Optional, TypedDict

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from tools_core import Audio, Context, DefinitionError, File, Image, Tool, tool


class Unit(Enum):
    C = "c"


class Answer(TypedDict):
    text: str


class Model(BaseModel):
    day: date


class Node(TypedDict):
    children: list["Node"]


def properties(function, **options):
    return tool(function, **options).input_schema["properties"]


def test_a_plain_default_stands_in_for_a_missing_hint():
    def take(a="x", b=1, c=1.5, d=True): ...

    types = [schema["type"] for schema in properties(take).values()]
    assert types == ["string", "integer", "number", "boolean"]


@pytest.mark.parametrize(
    ("hint", "default", "expected"),
    [
        (int | None, None, {"default": None}),
        (int, None, {}),
        (Unit, Unit.C, {"default": "c"}),
        (tuple[int, ...], (1, 2), {"default": [1, 2]}),
        (dict[str, int], {"a": 1}, {"default": {"a": 1}}),
        (Path, Path("a/b"), {"default": "a/b"}),
        (date, date(2026, 11, 20), {}),
        (float, float("nan"), {}),
        (Unit | None, None, {"default": None}),
        (Node, None, {}),
    ],
    ids=range(10),
)
def test_a_default_is_shown_if_it_is_plain_json_that_fits(read, hint, default, expected):
    schema = read(hint, default).schema
    assert {key: value for key, value in schema.items() if key == "default"} == expected
    assert read(hint, default).tool.input_schema["required"] == []


def test_extra_keywords_are_accepted_if_the_function_takes_them():
    def any_(a: int, **rest): ...
    def dates(a: int, **rest: date):
        return rest

    assert tool(any_).input_schema["additionalProperties"] is True
    new_tool = tool(dates)
    assert new_tool.input_schema["additionalProperties"] == {"type": "string", "format": "date"}
    assert new_tool.call(a=1, b="2026-11-20").output == {"b": date(2026, 11, 20)}
    assert new_tool.call(a=1, b="soon").error.startswith("b must be a date")


@pytest.mark.parametrize(
    "hint",
    [Context, Context | None, Optional[Context], Annotated[Context, "mine"]],
    ids=str,
)
def test_a_context_is_injected_and_never_shown(hint):
    def take(a, _context=None):
        return type(_context).__name__

    take.__annotations__ = {"a": int, "_context": hint}
    new_tool = tool(take)
    assert list(new_tool.parameters) == ["a"]
    assert new_tool.call(a=1).output == "Context"


def test_texts_come_from_annotated_first_and_then_from_the_docstring():
    def take(a: Annotated[int, "From the hint."], b: int, c: int):
        """Take things.

        Args:
            a: From the docstring.
            b (int): From the docstring.
        """

    new_tool = tool(take)
    assert new_tool.description == "Take things."
    texts = [parameter.description for parameter in new_tool.parameters.values()]
    assert texts == ["From the hint.", "From the docstring.", None]


def test_the_docstring_of_a_class_goes_before_that_of_its_method():
    class Take(Tool):
        """The tool.

        Args:
            a: Of the class.
            b: Of the class.
        """

        def execute(self, a: int, b: int):
            """Run.

            Args:
                b: Of the method.
            """

    assert Take().description == "The tool."
    assert [parameter.description for parameter in Take().parameters.values()] == ["Of the class.", "Of the method."]


@pytest.mark.parametrize(
    ("returns", "expected"),
    [(Answer, ["text"]), (Model, ["day"]), (dict[str, int], [])],
    ids=str,
)
def test_a_return_type_with_members_gives_an_output_schema(returns, expected):
    def take(): ...

    take.__annotations__ = {"return": returns}
    schema = tool(take).output_schema
    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert sorted(schema.get("properties", {})) == expected
    take.__annotations__ = {"return": list[returns]}
    assert tool(take).output_schema is None


@pytest.mark.parametrize("block", [Image, Audio, File])
def test_an_image_audio_or_a_file_is_content_without_an_output_schema_and_no_argument(block):
    @dataclass
    class Report:
        file: block

    def take(): ...

    for returns in (block, Report, dict[str, block]):
        take.__annotations__ = {"return": returns}
        assert tool(take).output_schema is None

    def show(file: block): ...

    with pytest.raises(DefinitionError, match=f"{block.__name__} cannot be created from JSON"):
        tool(show)


def base(day: date, count: int = 1, note: str = ""):
    """Count days.

    Args:
        count: Number of items.
    """


def decorate(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


class Callable:
    """Count days."""

    def __call__(self, day: date, count: int = 1): ...


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (decorate(base), ["day", "count", "note"]),
        (functools.partial(base, note="x"), ["day", "count"]),
        (functools.partial(decorate(base)), ["day", "count", "note"]),
        (Callable(), ["day", "count"]),
    ],
    ids=["decorated", "partial", "both", "callable object"],
)
def test_partials_and_callable_objects_become_tools(function, names):
    new_tool = tool(function, name="count")
    assert list(new_tool.parameters) == names
    assert new_tool.description == "Count days."
    assert new_tool.parameters["count"].default == 1
