"""Rare hints: the schema and the value that the function receives, or the hint to use instead."""

from __future__ import annotations

import os
from collections import ChainMap
from contextlib import contextmanager
from fractions import Fraction
from functools import partialmethod, singledispatchmethod
from typing import IO, Any, AnyStr, Generic, NotRequired, Protocol, SupportsInt, TypedDict, TypeVar, Union, Unpack

import pytest

from tools_core import DefinitionError, Toolset, tool

T = TypeVar("T")
Json = Union[str, int, None, list["Json"], dict[str, "Json"]]
RECURSIVE = [{"type": "array", "items": {"$ref": "#/$defs/Json"}}]


class Base(TypedDict, Generic[T], total=False):
    value: T


class Text(Base[str]):
    other: NotRequired[int]


class Sized(Protocol):
    size: int


def tool_with(hint):
    def take(value: Any) -> str:
        """Take a value."""
        return repr(value)

    take.__annotations__["value"] = hint
    return tool(take)


@pytest.mark.parametrize(
    ("hint", "part", "value", "received"),
    [
        (tuple[()], {"type": "array", "minItems": 0, "maxItems": 0, "prefixItems": []}, [], "()"),
        (
            tuple[int, Unpack[tuple[str, ...]]],
            {"type": "array", "minItems": 1, "prefixItems": [{"type": "integer"}], "items": {"type": "string"}},
            [1, "a", "b"],
            "(1, 'a', 'b')",
        ),
        (
            tuple[*tuple[float, ...]],
            {"type": "array", "minItems": 0, "prefixItems": [], "items": {"type": "number"}},
            [1],
            "(1.0,)",
        ),
        (AnyStr, {"type": "string"}, "abcd", "'abcd'"),
        (
            Text,
            {
                "type": "object",
                "properties": {"value": {"type": "string"}, "other": {"type": "integer"}},
                "required": [],
                "additionalProperties": False,
            },
            {"value": "a"},
            "{'value': 'a'}",
        ),
    ],
    ids=range(5),
)
def test_a_rare_hint_becomes_a_schema_and_a_value(hint, part, value, received):
    taker = tool_with(hint)
    assert taker.input_schema["properties"]["value"] == part
    assert taker.call(value=value).output == received


def test_a_union_that_names_itself_in_text_is_recursive():
    taker = tool_with(Json)
    assert taker.input_schema["$defs"]["Json"]["anyOf"][3:4] == RECURSIVE
    assert taker.call(value={"a": [1, {"b": None}]}).output == "{'a': [1, {'b': None}]}"
    assert not taker.call(value={"a": [1.5]}).ok


@pytest.mark.parametrize(
    ("hint", "advice"),
    [
        (os.PathLike[str], "use Path"),
        (IO[str], "take a Path"),
        (Fraction, "use Decimal"),
        (ChainMap[str, int], r"use dict\[str, int\]"),
        (bytearray, "use bytes"),
        (Sized, "write a dataclass or a TypedDict"),
        (SupportsInt, "write a dataclass or a TypedDict"),
        (tuple[*tuple[int, ...], str], "use a list"),
    ],
    ids=range(8),
)
def test_a_hint_without_json_names_the_one_to_use(hint, advice):
    with pytest.raises(DefinitionError, match=advice):
        tool_with(hint)


def test_a_context_manager_is_not_a_tool():
    with pytest.raises(DefinitionError, match="is a context manager"):

        @tool
        @contextmanager
        def connect(host: str):
            """Connect."""
            yield host


@pytest.mark.parametrize("descriptor", [lambda f: partialmethod(f, times=2), singledispatchmethod], ids=range(2))
def test_a_public_descriptor_that_cannot_be_a_tool_is_refused(descriptor):
    def repeat(self, text: str, times: int = 1) -> str:
        """Repeat."""
        return text * times

    with pytest.raises(DefinitionError, match="cannot be a tool: write a function"):
        type("Texts", (Toolset,), {"repeat": repeat, "twice": descriptor(repeat)})
    type("Texts", (Toolset,), {"repeat": repeat, "_twice": descriptor(repeat)})
