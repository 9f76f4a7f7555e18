"""From a function to input schema, output schema, description and context."""

import functools
from collections.abc import Awaitable
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Optional, TypedDict

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from tools_core._definition._define import define
from tools_core._definition._parameter import Parameter, parameters_of
from tools_core._values._context import Context
from tools_core._values._errors import InvalidArguments


class Unit(Enum):
    C = "c"


class Answer(TypedDict):
    text: str


@dataclass
class Record:
    text: str
    size: int = field(default=0, init=False)


class Pair(NamedTuple):
    left: int


class Model(BaseModel):
    day: date


class Node(TypedDict):
    children: list["Node"]


def properties(function, **options):
    return define(function, **options).input_schema["properties"]


def test_the_schema_of_a_function_is_a_complete_object_schema():
    def place(order_id: str, count: int = 1): ...

    assert define(place).input_schema == {
        "type": "object",
        "properties": {"order_id": {"type": "string"}, "count": {"type": "integer", "default": 1}},
        "required": ["order_id"],
        "additionalProperties": False,
    }


def test_a_function_without_parameters_has_the_empty_object_schema():
    def ping(): ...

    signature = define(ping)
    assert signature.input_schema == {
        "type": "object",
        "properties": {},
        "required": [],
        "additionalProperties": False,
    }
    assert signature.convert is None
    assert parameters_of(signature.input_schema) == {}


def test_keyword_only_parameters_are_parameters():
    def place(a: int, b: int = 2, *, c: str, d: str = "x"): ...

    schema = define(place).input_schema
    assert list(schema["properties"]) == ["a", "b", "c", "d"]
    assert schema["required"] == ["a", "c"]


def test_self_is_left_out_of_a_bound_signature():
    class Tool:
        def execute(self, a: int): ...

    assert list(properties(Tool.execute, bound=True)) == ["a"]
    assert list(properties(Tool().execute)) == ["a"]


def test_a_plain_default_stands_in_for_a_missing_hint():
    def take(a="x", b=1, c=1.5, d=True): ...

    types = [one["type"] for one in properties(take).values()]
    assert types == ["string", "integer", "number", "boolean"]


@pytest.mark.parametrize(
    ("hint", "default", "shown"),
    [
        (int | None, None, {"default": None}),
        (int, None, {}),
        (Optional[list[int]], None, {"default": None}),  # noqa: UP045
        (Any, None, {"default": None}),
        (Unit, Unit.C, {"default": "c"}),
        (list[int], [1, 2], {"default": [1, 2]}),
        (tuple[int, ...], (1, 2), {"default": [1, 2]}),
        (dict[str, int], {"a": 1}, {"default": {"a": 1}}),
        (Path, Path("a/b"), {"default": "a/b"}),
        (date, date(2026, 11, 20), {}),
        (float, float("nan"), {}),
        (Any, {1: 2}, {}),
        (Any, [object()], {}),
        (Answer, None, {}),
        (Unit | None, None, {"default": None}),
        (Node, None, {}),
    ],
    ids=range(16),
)
def test_a_default_is_shown_if_it_is_plain_json_that_fits(read, hint, default, shown):
    schema = read(hint, default).schema
    assert {key: value for key, value in schema.items() if key == "default"} == shown
    assert read(hint, default).tool.input_schema["required"] == []


def test_the_functions_own_default_holds_for_what_is_absent():
    def take(day: date = date(2026, 1, 1)): ...

    assert define(take).convert({}) == {}


def test_extra_keywords_are_accepted_if_the_function_takes_them():
    def any_(a: int, **rest): ...
    def dates(a: int, **rest: date): ...

    assert define(any_).input_schema["additionalProperties"] is True
    signature = define(dates)
    assert signature.input_schema["additionalProperties"] == {"type": "string", "format": "date"}
    assert signature.convert({"a": 1, "b": "2026-11-20"}) == {"a": 1, "b": date(2026, 11, 20)}
    with pytest.raises(InvalidArguments, match=r"^b must be a date"):
        signature.convert({"a": 1, "b": "soon"})


@pytest.mark.parametrize(
    "hint",
    [Context, Context | None, Optional[Context], Annotated[Context, "mine"]],  # noqa: UP045
    ids=str,
)
def test_a_context_is_injected_and_never_shown(hint):
    def take(a, _context=None): ...

    take.__annotations__ = {"a": int, "_context": hint}
    signature = define(take)
    assert signature.context == "_context"
    assert list(parameters_of(signature.input_schema)) == ["a"]


def test_hints_of_a_tool_with_a_ready_schema_are_only_searched_for_a_context():
    def take(c: Context, b: "Missing", **more): ...  # noqa: F821

    schema = {"properties": {"b": {"type": "integer"}}, "required": ["b"]}
    assert define(take, input_schema=schema).context == "c"


def test_parameters_are_objects_by_name():
    def take(a: Annotated[int, "The a."], b: date | None = None): ...

    parameters = parameters_of(define(take).input_schema)
    assert parameters["a"] == Parameter("a", int, "The a.")
    assert (parameters["b"].type, parameters["b"].required, parameters["b"].has_default) == (
        "string",
        False,
        True,
    )


def test_texts_come_from_annotated_first_and_then_from_the_docstring():
    def take(a: Annotated[int, "From the hint."], b: int, c: int):
        """Take things.

        Args:
            a: From the docstring.
            b (int): From the docstring.
        """

    signature = define(take)
    assert signature.description == "Take things."
    texts = [one.description for one in parameters_of(signature.input_schema).values()]
    assert texts == ["From the hint.", "From the docstring.", None]


def test_the_docstring_of_a_class_goes_before_that_of_its_method():
    def execute(self, a: int, b: int):
        """Run.

        Args:
            b: Of the method.
        """

    docstring = "The tool.\n\nArgs:\n    a: Of the class.\n    b: Of the class.\n"
    signature = define(execute, bound=True, docstring=docstring)
    assert signature.description == "The tool."
    assert [one.description for one in parameters_of(signature.input_schema).values()] == [
        "Of the class.",
        "Of the method.",
    ]


@pytest.mark.parametrize(
    ("returns", "expected"),
    [
        (Answer, ["text"]),
        (Record, ["size", "text"]),
        (Pair, ["left"]),
        (Model, ["day"]),
        (dict[str, int], []),
    ],
    ids=str,
)
def test_a_result_that_is_an_object_has_an_output_schema(returns, expected):
    def take(): ...

    take.__annotations__ = {"return": returns}
    schema = define(take).output_schema
    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert sorted(schema.get("properties", {})) == expected


def test_a_recursive_result_has_an_output_schema():
    def take() -> Node: ...

    schema = define(take).output_schema
    assert (schema["type"], schema["$ref"], list(schema["$defs"])) == ("object", "#/$defs/Node", ["Node"])


@pytest.mark.parametrize(
    "returns", [None, int, str, dict, list[Answer], Answer | None, object, Context, Awaitable[int]], ids=str
)
def test_any_other_result_has_no_output_schema(returns):
    def take(): ...

    take.__annotations__ = {"return": returns}
    assert define(take).output_schema is None


def base(day: date, count: int = 1, note: str = ""):
    """Count days.

    Args:
        count: How many.
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
        (functools.partial(base, date(2026, 1, 1)), ["count", "note"]),
        (functools.partial(decorate(base)), ["day", "count", "note"]),
        (Callable(), ["day", "count"]),
        (staticmethod(base), ["day", "count", "note"]),
    ],
    ids=["decorated", "partial", "partial by position", "both", "callable object", "static method"],
)
def test_what_is_no_plain_function_is_read_as_well(function, names):
    signature = define(function)
    assert list(parameters_of(signature.input_schema)) == names
    assert signature.description == "Count days."
    assert parameters_of(signature.input_schema)["count"].default == 1


def test_an_async_function_is_read_like_any_other():
    async def take(a: int) -> Answer: ...

    assert list(properties(take)) == ["a"]
    assert define(take).output_schema["required"] == ["text"]
