"""`--params`: the parameters that it describes, and its errors."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_scaffold import ScaffoldError, plan_package


def module(params):
    """The generated module; nothing is written."""
    return plan_package("weather", into=Path(__file__).parent, params=params).files["src/tools_weather/_weather.py"]


@pytest.mark.parametrize(
    ("params", "line"),
    [
        ("city:str", 'city: Annotated[str, "City"],'),
        ('city : str "Name of the city"', 'city: Annotated[str, "Name of the city"],'),
        ("max_days:int=1", 'max_days: Annotated[int, "Max days"] = 1,'),
        ("days:int?", 'days: Annotated[int | None, "Days"] = None,'),
        ("days:int?=3", 'days: Annotated[int | None, "Days"] = 3,'),
        ("share:float=1e20", 'share: Annotated[float, "Share"] = 1e20,'),
        ("exact:bool=true", 'exact: Annotated[bool, "Exact"] = True,'),
        ('word:str="two words, quoted" "A word"', 'word: Annotated[str, "A word"] = "two words, quoted",'),
        ('word:str=""', 'word: Annotated[str, "Word"] = "",'),
        ("day:date", 'day: Annotated[date, "Day"],'),
        ("tags:list[UUID]?", 'tags: Annotated[list[UUID] | None, "Tags"] = None,'),
        ("units: C | F = C", 'units: Annotated[Literal["C", "F"], "Units"] = "C",'),
    ],
)
def test_a_parameter_becomes_a_line_of_the_signature(params, line):
    assert f"    {line}\n" in module(params)


def test_required_parameters_come_first():
    code = module("days:int=3, city:str, units:C|F")
    assert code.index("    city:") < code.index("    units:") < code.index("    days:")


def test_types_are_imported_from_their_modules():
    code = module("at:datetime, day:date?, limit:Decimal, units:C|F")
    assert (
        "from datetime import date, datetime\nfrom decimal import Decimal\nfrom typing import Annotated, Any, Literal\n"
        in code
    )


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ("", "--params is empty; an example: city:str"),
        ("city", "'city' is not understood; an example: city:str"),
        ("city:str days:int", "'city:str days:int' is not understood"),
        ("day:date, city:", "'city:' is not understood"),
        ('city:str "open', "is not understood"),
        ("city:strng", "city has the unknown type 'strng'; use str, int"),
        ("tags:list[list[str]]", "tags has the unknown type 'list[list[str]]'"),
        ("city:str|None", "city has a union type; use one type, and ? for an optional parameter"),
        ("city:str, city:int", "two parameters are called city"),
        ("City:str", "'City' cannot be used as a name"),
        ("class:str", "'class' cannot be used as a name"),
        ("self:str", "'self' cannot be used as a name"),
        ("days:int=three", "'three' is not a default for days: int"),
        ("share:float=nan", "'nan' is not a default for share: float"),
        ("units:C|F=K", "'K' is not a default for units: Literal"),
        ("day:date=2026-01-31", "'2026-01-31' is not a default for day: date"),
        ("units:" + "|".join(f"choice{number}" for number in range(20)), "the choices of units are too long"),
        ("city:str\n", "one printable line"),
    ],
)
def test_a_mistake_is_reported_with_the_parameter(params, problem):
    with pytest.raises(ScaffoldError, match=re.escape(problem)):
        module(params)


@given(st.text('cdayst:|?=[]", 3\\', max_size=40) | st.text(max_size=30))
def test_every_text_becomes_python_or_is_refused_in_one_line(params):
    try:
        ast.parse(module(params))
    except ScaffoldError as error:
        assert str(error).isprintable()


@pytest.mark.parametrize("choices", ["it's|b", "\N{GRINNING FACE}|b", "\\|b", "é|b"])
def test_the_cases_of_a_tool_are_toml_for_every_choice(choices):
    files = plan_package("weather", into=Path(__file__).parent, params=f"unit:{choices}").files
    case = tomllib.loads(files["evals/weather.toml"])["case"][0]
    choice = choices.removesuffix("|b")
    assert case["expect"]["arguments"] == {"unit": choice}
    assert json.dumps(choice, ensure_ascii=False) in case["question"]
