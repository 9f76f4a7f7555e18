"""`Limits`, and constraints that cannot be enforced."""

from typing import Annotated

import pytest
from pydantic import BaseModel, Field

from tools_core import DefinitionError, Limits, Parameter, tool


@tool
def wait(
    seconds: Annotated[float, "Seconds to wait", Limits(gt=0, le=600)],
    code: Annotated[str, Limits(min_length=2, max_length=3, pattern="^[A-Z]+$")] = "AB",
    tags: Annotated[list[str], Limits(max_length=2)] = [],  # noqa: B006  (never changed)
    step: Annotated[int, Limits(ge=0, lt=10, multiple_of=5)] = 0,
) -> str:
    """Wait."""
    return f"{seconds} {code} {tags} {step}"


def test_limits_are_shown_to_the_model():
    properties = wait.input_schema["properties"]
    assert properties["seconds"] == {
        "type": "number",
        "description": "Seconds to wait",
        "exclusiveMinimum": 0,
        "maximum": 600,
    }
    assert properties["code"] == {
        "type": "string",
        "minLength": 2,
        "maxLength": 3,
        "pattern": "^[A-Z]+$",
        "default": "AB",
    }
    assert properties["tags"]["maxItems"] == 2
    assert properties["step"] == {
        "type": "integer",
        "minimum": 0,
        "exclusiveMaximum": 10,
        "multipleOf": 5,
        "default": 0,
    }


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"seconds": 0.0}, "seconds must be above 0"),
        ({"seconds": 601}, "seconds must be at most 600"),
        ({"seconds": 1, "code": "A"}, "code must have at least 2 characters"),
        ({"seconds": 1, "code": "ab"}, 'code must match the pattern "^[A-Z]+$"'),
        ({"seconds": 1, "tags": ["a", "b", "c"]}, "tags must have at most 2 items"),
        ({"seconds": 1, "step": 7}, "step must be a multiple of 5"),
    ],
)
def test_limits_are_enforced(arguments, text):
    assert text in wait.call(arguments).error


class Coded(BaseModel):
    code: str = Field(pattern=r"\p{Lu}+")


@pytest.mark.parametrize("pattern", ["(", r"\p{L}+", "a{99999999999}"])
@pytest.mark.parametrize("new_tool", [lambda pattern: Limits(pattern=pattern), lambda pattern: Field(pattern=pattern)])
def test_an_unsupported_pattern_is_refused_at_definition(new_tool, pattern):
    def take(x: str) -> str:
        return x

    take.__annotations__["x"] = Annotated[str, new_tool(pattern)]
    with pytest.raises(DefinitionError, match=r"take.*#/properties/x/pattern cannot be enforced"):
        tool(take)
    with pytest.raises(DefinitionError, match="cannot be enforced"):
        tool(lambda x: x, name="take", parameters=[Parameter("x", pattern=pattern)])


def test_a_model_with_an_unsupported_pattern_is_refused_at_definition():
    def take(coded: Coded) -> None: ...

    with pytest.raises(DefinitionError, match=r"take.*pattern"):
        tool(take)
