"""Metadata of `Annotated`: texts and limits."""

import re
from datetime import date
from decimal import Decimal
from typing import Annotated, Any

import annotated_types as at
import pytest
from pydantic import Field, StringConstraints
from typing_extensions import Doc

from tools_core import DefinitionError, tool

SCHEMAS = [
    (Annotated[int, "Number of items."], {"type": "integer", "description": "Number of items."}),
    (Annotated[int, Doc("Number of items.")], {"type": "integer", "description": "Number of items."}),
    (list[Annotated[int, "One."]], {"type": "array", "items": {"type": "integer", "description": "One."}}),
    (Annotated[int, at.Ge(1), at.Lt(9)], {"type": "integer", "minimum": 1, "exclusiveMaximum": 9}),
    (Annotated[int, at.Interval(ge=1, le=3)], {"type": "integer", "minimum": 1, "maximum": 3}),
    (Annotated[str, at.Len(1, 3)], {"type": "string", "minLength": 1, "maxLength": 3}),
    (Annotated[dict, at.MaxLen(2)], {"type": "object", "maxProperties": 2}),
    (Annotated[int | None, at.Ge(1)], {"type": ["integer", "null"], "minimum": 1}),
    (
        Annotated[str, StringConstraints(pattern="^a", max_length=4)],
        {"type": "string", "maxLength": 4, "pattern": "^a"},
    ),
    (
        Annotated[str, Field(pattern="^a$", examples=["a"])],
        {"type": "string", "pattern": "^a$", "examples": ["a"]},
    ),
    (Annotated[str, Field(json_schema_extra={"format": "email"})], {"type": "string", "format": "email"}),
    (
        Annotated[set[date], at.MinLen(1)],
        {"type": "array", "items": {"type": "string", "format": "date"}, "uniqueItems": True, "minItems": 1},
    ),
    (Annotated[int, object(), re.compile("a"), str], {"type": "integer"}),
]


@pytest.mark.parametrize(("hint", "schema"), SCHEMAS, ids=[str(index) for index in range(len(SCHEMAS))])
def test_metadata_is_written_into_the_schema(read, hint, schema):
    assert read(hint).schema == schema


@pytest.mark.parametrize(
    ("hint", "text"),
    [
        (Annotated[date | None, at.Ge(date(2026, 1, 1))], "ge is a limit of integer, number, not of string; remove it"),
        (Annotated[Decimal, at.Gt(0)], "gt cannot limit a type that JSON writes as number; check it in the function"),
        (Annotated[bytes, at.MaxLen(2)], "max_length cannot limit a type that JSON writes as string"),
        (Annotated[Any, at.MinLen(2)], "min_length is a limit of string, array, object, not of any type"),
    ],
    ids=str,
)
def test_limits_that_a_schema_cannot_express_are_refused(read, hint, text):
    with pytest.raises(DefinitionError, match=text):
        read(hint)


def test_both_of_two_limits_of_one_kind_apply(read):
    argument = read(Annotated[int, at.Ge(1), at.Ge(5)])
    assert argument.schema == {"type": "integer", "minimum": 1, "allOf": [{"minimum": 5}]}
    assert argument.accepts(5) and not argument.accepts(4)


def test_metadata_of_annotated_types_without_a_keyword_is_refused(read):
    with pytest.raises(DefinitionError, match="is not supported; put it into a pydantic model, or check the value"):
        read(at.LowerCase[str])


def test_a_field_as_default_carries_limits_text_and_default():
    def take(
        a: int = Field(ge=1, description="The a."),
        b: list = Field(default_factory=list),  # noqa: B008  # as pydantic's users write it
        c: int = Field(3),
    ):
        return a, b, c

    new_tool = tool(take)
    assert new_tool.input_schema["required"] == ["a"]
    assert new_tool.input_schema["properties"] == {
        "a": {"type": "integer", "minimum": 1, "description": "The a."},
        "b": {"type": "array", "items": {}},
        "c": {"type": "integer", "default": 3},
    }
    assert new_tool.call(a=1).output == (1, [], 3)
    assert new_tool.call(a=1, b=[2], c=4).output == (1, [2], 4)


def test_a_field_in_annotated_may_have_the_default():
    def take(a: Annotated[int, Field(default=3)], b: Annotated[int, Field(ge=1)] = 5):
        return a, b

    new_tool = tool(take)
    assert new_tool.input_schema["required"] == []
    assert new_tool.input_schema["properties"]["b"] == {"type": "integer", "minimum": 1, "default": 5}
    assert new_tool.call().output == (3, 5)
