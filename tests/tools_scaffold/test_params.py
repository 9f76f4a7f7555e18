"""`--params`: what it takes, what it refuses, and that a tool made of it is Python."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_scaffold import ScaffoldError, new_package
from tools_scaffold._params import EXAMPLE, read_params
from tools_scaffold._types import TYPES, literal

NOWHERE = Path(__file__).parent  # plans are only made, never written


def module(params: str, *, pydantic: bool = False) -> str:
    made = new_package("weather", into=NOWHERE, author="Ada", dry_run=True, params=params, pydantic=pydantic)
    return made.files["src/tools_weather/_weather.py"]


@pytest.mark.parametrize(
    ("params", "line"),
    [
        ("city:str", 'city: Annotated[str, "City"],'),
        ('city : str "Name of the city"', 'city: Annotated[str, "Name of the city"],'),
        ("days:int=3", 'days: Annotated[int, "Days"] = 3,'),
        ("days:int=-03", 'days: Annotated[int, "Days"] = -3,'),
        ("share:float=1e20", 'share: Annotated[float, "Share"] = 1e20,'),
        ("exact:bool=TRUE", 'exact: Annotated[bool, "Exact"] = True,'),
        ('word:str=""', 'word: Annotated[str, "Word"] = "",'),
        ("word:str=two words", 'word: Annotated[str, "Word"] = "two words",'),
        ('word:str="a, \\"b\\""', 'word: Annotated[str, "Word"] = \'a, "b"\','),
        ("day:date=2026-01-31", 'day: Annotated[date, "Day"] = date(2026, 1, 31),'),
        ("day:date?", 'day: Annotated[date | None, "Day"] = None,'),
        ("days:int?=3", 'days: Annotated[int | None, "Days"] = 3,'),
        ("tags:list[str]", 'tags: Annotated[list[str], "Tags"],'),
        ("tags:list [ UUID ]?", 'tags: Annotated[list[UUID] | None, "Tags"] = None,'),
        ("units:C|F", 'units: Annotated[Literal["C", "F"], "Units"],'),
        ('units: C | "very hot" = C', 'units: Annotated[Literal["C", "very hot"], "Units"] = "C",'),
        ("units:C|F?", 'units: Annotated[Literal["C", "F"] | None, "Units"] = None,'),
        ('kind:"int"|"str"', 'kind: Annotated[Literal["int", "str"], "Kind"],'),
        ("the_first_day:date", 'the_first_day: Annotated[date, "The first day"],'),
    ],
)
def test_a_parameter_becomes_a_line_of_the_signature(params: str, line: str) -> None:
    assert f"    {line}\n" in module(params)


def test_what_has_no_default_comes_first_in_the_signature_wherever_it_was_given() -> None:
    code = module("city:str, days:int=3, units:C|F")
    assert code.index("    city:") < code.index("    units:") < code.index("    days:")


def test_with_pydantic_a_description_is_a_field_and_the_answer_a_model() -> None:
    code = module('days:int=3 "How many"', pydantic=True)
    assert '    days: Annotated[int, Field(description="How many")] = 3,\n' in code
    assert "from pydantic import BaseModel, Field\n" in code
    assert "class Answer(BaseModel):\n" in code


@pytest.mark.parametrize(
    ("params", "place", "problem"),
    [
        ("", 0, "there is no parameter"),
        ("  ", 2, "there is no parameter"),
        ("city", 4, "expected a colon and a type after city"),
        ("city:", 5, "expected a type or choices"),
        ("city:strng", 5, "'strng' is no type; did you mean str?"),
        ("city:string", 5, "'string' is no type; did you mean str?"),
        ("city:Integer", 5, "did you mean int?"),
        ("city:str days:int", 9, "expected a comma, or the end"),
        ("city:str,", 9, "expected the name of a parameter"),
        (",city:str", 0, "expected the name of a parameter"),
        ("city:str, city:int", 10, "two parameters called city"),
        ("days:int=three", 9, "a default of type int is a whole number, not three"),
        ("share:float=nan", 12, "a default of type float is a number, not nan"),
        ("share:float=inf", 12, "a default of type float is a number, not inf"),
        ("exact:bool=yes", 11, "true or false"),
        ("day:date=tomorrow", 9, "a day such as 2026-01-31"),
        ("at:datetime=now", 12, "takes no default here; a question mark"),
        ("tags:list[str]=[]", 15, "a list takes no default here"),
        ("tags:list[str", 13, "expected a closing bracket"),
        ("tags:list[list[str]]", 10, "'list' is no type"),
        ("units:C|F=K", 10, "the default K is none of C, F"),
        ("units:C|C", 8, "the choice C is there twice"),
        ("units:C|", 8, "expected a type or choices"),
        ('units:"C"', 6, "one choice is none"),
        ("city:int|str", 5, 'if int is meant as a choice, write "int"'),
        ("city:str|None", 5, "None is no choice; a question mark"),
        ('city:str "open', 9, "this string has no end"),
        ('city:str ""', 9, "a description has 1 to 200 characters"),
        ("City:str", 0, "City is no name for a parameter"),
        ("_city:str", 0, "no name for a parameter"),
        ("größe:int", 0, "no name for a parameter"),
        ("class:str", 0, "a word of the Python language; class_ would do"),
        ("self:str", 0, "would hide what its own code needs; the_self would do"),
        ("city:str, date:date", 10, "the_date would do"),
        ("a" * 41 + ":int", 0, "at most 40 characters"),
        ('city:str "a\x07b"', 9, "an unprintable character"),
        (", ".join(f"p{number}:int" for number in range(51)), 440, "more than 50 parameters"),
        ("kind:" + "|".join(f"c{number}" for number in range(51)), 5, "more than 50 choices"),
    ],
)
def test_a_mistake_is_shown_where_it_is_with_what_is_right(params: str, place: int, problem: str) -> None:
    with pytest.raises(ScaffoldError) as caught:
        read_params(params)
    lines = str(caught.value).split("\n")
    assert problem in lines[0]
    around = params[max(0, place - 40) : place + 40]
    assert lines[1][2:] == "".join(sign if sign.isprintable() else " " for sign in around)
    assert lines[2] == " " * (2 + min(place, 40)) + "^"
    assert lines[3] == f"  right is: {EXAMPLE}"


def test_what_a_mistake_says_is_right_is_right() -> None:
    assert [each.name for each in read_params(EXAMPLE, pydantic=True)] == ["city", "days", "tags", "units"]


@pytest.mark.parametrize("name", ["json", "copy", "schema", "model_name"])
def test_a_name_that_models_of_pydantic_have_is_refused_only_with_pydantic(name: str) -> None:
    assert read_params(f"{name}:str")
    with pytest.raises(ScaffoldError, match=f"the_{name} would do"):
        read_params(f"{name}:str", pydantic=True)


printable = st.text(st.characters(exclude_categories=("C", "Z"), include_characters=" "), min_size=1, max_size=60)
names = st.from_regex(r"[a-z][a-z0-9_]{0,20}", fullmatch=True)


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@given(st.lists(st.tuples(names, st.sampled_from(list(TYPES)), printable.filter(str.strip)), min_size=1, max_size=8))
def test_any_name_type_and_description_that_is_taken_comes_back_and_makes_python(
    given_parameters: list[tuple[str, str, str]],
) -> None:
    text = ", ".join(f"{name}:{kind} {quoted(words)}" for name, kind, words in given_parameters)
    try:
        read = read_params(text)
    except ScaffoldError:
        return
    assert [(each.name, each.type, each.description) for each in read] == [
        (name, kind, words.strip()) for name, kind, words in given_parameters
    ]
    ast.parse(module(text))


@given(st.text(max_size=60) | st.text('city:str,"=|?[] \\', max_size=40))
def test_any_text_is_taken_or_refused_with_its_place(text: str) -> None:
    try:
        read_params(text)
    except ScaffoldError as error:
        assert str(error).count("\n") == 3
        assert str(error).replace("\n", " ").isprintable()


@given(st.text())
def test_a_literal_is_the_text_that_it_stands_for(text: str) -> None:
    if text.isprintable():
        assert ast.literal_eval(literal(text)) == text


@given(printable.filter(str.strip))
def test_any_description_makes_a_docstring_that_holds_it(description: str) -> None:
    made = new_package("weather", into=NOWHERE, author="Ada", dry_run=True, params="city:str", description=description)
    (function,) = (
        node
        for node in ast.parse(made.files["src/tools_weather/_weather.py"]).body
        if isinstance(node, ast.FunctionDef)
    )
    assert (ast.get_docstring(function, clean=False) or "").startswith(description)
