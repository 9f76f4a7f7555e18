"""pydantic models: their schema, their values, their errors."""

from datetime import date
from typing import Literal

import pydantic
import pytest
from pydantic import BaseModel, Field, field_validator, model_validator

from tools_core import DefinitionError, InvalidArguments, tool


class City(BaseModel):
    """A place."""

    name: str
    title: str = ""


class Address(BaseModel):
    street: str = Field(min_length=3)
    city: City


class Order(BaseModel):
    day: date
    to: Address
    lines: list[int] = []

    @field_validator("lines")
    @classmethod
    def not_too_many(cls, lines):
        if len(lines) > 2:
            raise ValueError("too many lines")
        return lines


class Tree(BaseModel):
    value: int
    children: list["Tree"] = []


def other_city():
    class City(BaseModel):
        code: int

    class Other(BaseModel):
        city: City

    return Other


def test_a_model_arrives_as_its_instance(read):
    converted = read(Order).convert({"day": "2026-11-20", "to": {"street": "Main", "city": {"name": "B"}}})
    assert converted == Order(day=date(2026, 11, 20), to=Address(street="Main", city=City(name="B")))


def test_the_definitions_of_a_model_move_to_the_top_without_titles(read):
    argument = read(list[Order])
    assert argument.schema["items"]["properties"]["to"] == {"$ref": "#/$defs/Address"}
    definitions = argument.tool.input_schema["$defs"]
    assert list(definitions) == ["Address", "City"] or set(definitions) == {"Address", "City"}
    assert definitions["City"]["properties"] == {
        "name": {"type": "string"},
        "title": {"type": "string", "default": ""},
    }


def test_definitions_of_one_name_from_different_models_are_kept_apart():
    def take(a, b, c): ...

    take.__annotations__ = {"a": Address, "b": other_city(), "c": Order}
    schema = tool(take).input_schema
    assert schema["properties"]["a"]["properties"]["city"] == {"$ref": "#/$defs/City"}
    assert schema["properties"]["b"]["properties"]["city"] == {"$ref": "#/$defs/City2"}
    assert schema["$defs"]["City2"]["properties"] == {"code": {"type": "integer"}}
    assert set(schema["$defs"]) == {"City", "City2", "Address"}


def test_a_recursive_model_is_a_reference(read):
    argument = read(Tree)
    assert argument.schema["$ref"] == "#/$defs/Tree"
    assert argument.convert({"value": 1, "children": [{"value": 2}]}).children[0] == Tree(value=2)


def test_every_error_of_a_model_is_a_problem_with_its_path(read):
    convert = read(list[Order]).convert
    good = {"day": "2026-11-20", "to": {"street": "Main", "city": {"name": "B"}}}
    bad = {"day": "soon", "to": {"street": "Main", "city": {"name": "B"}}, "lines": [1, 2, 3]}
    with pytest.raises(InvalidArguments) as caught:
        convert([good, bad])
    assert [str(problem) for problem in caught.value.problems] == [
        "x[1].day is invalid: Input should be a valid date or datetime, input is too short",
        "x[1].lines is invalid: too many lines",
    ]


def test_an_error_of_a_whole_model_has_the_path_of_the_model(read):
    class Span(BaseModel):
        first: int
        last: int

        @model_validator(mode="after")
        def ordered(self):
            if self.last < self.first:
                raise AssertionError("last is before first\nby far")
            return self

    with pytest.raises(InvalidArguments, match=r"^x is invalid: last is before first$"):
        read(Span).convert({"first": 2, "last": 1})


def test_an_error_in_a_branch_of_a_union_keeps_to_the_real_path(read):
    class Cat(BaseModel):
        kind: Literal["cat"]
        born: date

    class Dog(BaseModel):
        kind: Literal["dog"]
        born: date

    class Owner(BaseModel):
        pet: Cat | Dog = Field(discriminator="kind")

    argument = read(Owner)
    assert "discriminator" not in argument.schema["properties"]["pet"]
    with pytest.raises(InvalidArguments) as caught:
        argument.convert({"pet": {"kind": "dog", "born": "soon"}})
    assert [problem.path for problem in caught.value.problems] == ["x.pet.born"]


def test_a_model_without_a_json_schema_is_refused_at_definition():
    class Hidden: ...

    class Holder(BaseModel, arbitrary_types_allowed=True):
        hidden: Hidden

    def take(x): ...

    take.__annotations__ = {"x": Holder}
    with pytest.raises(DefinitionError, match="take: the parameter `x`: Holder has no JSON Schema"):
        tool(take)


def test_unknown_members_of_a_model_are_refused():
    class Stop(pydantic.BaseModel):
        city: str
        nights: int = 1

    class Lenient(pydantic.BaseModel, extra="ignore"):
        city: str

    @tool
    def travel(stops: list[Stop], note: Lenient | None = None) -> int:
        """Travel."""
        return len(stops)

    assert travel.call(stops=[{"city": "Oslo"}]).output == 1
    assert 'has no member "nigths"; did you mean "nights"?' in travel.call(stops=[{"city": "x", "nigths": 2}]).error
    assert travel.call(stops=[], note={"city": "x", "other": 1}).ok
