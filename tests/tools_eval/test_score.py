"""`ask-tools check --score`: points for descriptions, with reasons and fixes."""

import json
import sys
from typing import Annotated

import pytest

from tools_core import Registry, tool
from tools_core.formats import anthropic, gemini, openai
from tools_eval import Case, estimate_tokens, evaluate, score
from tools_eval._scripted import words_provider


def findings(description, *others, **options):
    def lookup(
        city: Annotated[str, "Name of the city."], days: Annotated[int, "Number of days, at most 5."] = 1
    ) -> str:
        return city

    [result] = score([tool(lookup, description=description, **options)], others)
    assert result.points == 100 - sum(finding.points for finding in result.findings)
    return {finding.criterion: f"{finding.reason}; {finding.fix}" for finding in result.findings}


GOOD = "Forecast the weather of a city. Use it for questions about rain. Returns a line for each day."


def test_a_complete_description_has_all_points():
    assert findings(GOOD) == {}


@pytest.mark.parametrize(
    ("description", "criterion", "message"),
    [
        ("Weather", "purpose", "does not say what the tool does"),
        ("This tool forecasts the weather. Use it for rain. Returns lines.", "purpose", "begins with 'This'"),
        ("Forecast the weather of a city. Returns a line per day.", "when", "Use it for"),
        ("Forecast the weather of a city. Use it for rain and wind.", "returns", "Returns"),
        ("Weather.", "length", "8 characters"),
        ("Describe here what the tool does and when to use it.", "when", "Use it for"),
        (GOOD + " Rain." * 300, "length", "tokens"),
    ],
)
def test_each_weakness_costs_points_and_has_a_fix(description, criterion, message):
    assert message in findings(description)[criterion]


def test_parameters_may_have_schemas_that_are_true():
    schema = {"type": "object", "properties": {"x": True, "y": {"$ref": "#/$defs/y"}}, "required": ["x"]}

    @tool(input_schema=schema | {"$defs": {"y": True}})
    def search(**arguments: object) -> object:
        """Search the news."""
        return arguments

    [result] = score([search])
    assert "x, y" in {finding.criterion: finding.reason for finding in result.findings}["parameters"]
    case = Case(question="Search the news.", expect={"tool": "search"})
    assert evaluate(case, {"words": words_provider()}, tools=[search]).rate == (1, 1)


def test_parameters_without_descriptions_and_limits_cost_points():
    @tool
    def search(query: str, tags: list[str]) -> str:
        """Search articles. Use it for questions about news. Returns headlines."""
        return query

    [result] = score([search])
    assert {finding.criterion for finding in result.findings} == {"limits", "parameters", "examples"}


def test_a_neighbour_with_the_same_words_must_be_named():
    @tool(name="climate")
    def other(city: str) -> str:
        """Forecast the climate of a city. Use it for questions about rain."""
        return city

    message = findings(GOOD, other)["neighbours"]
    assert "climate has the same words" in message and "forecast" in message and "rain" in message
    assert "neighbours" not in findings(f"{GOOD} For averages of years, use climate.", other)


def test_a_name_close_to_another_one_costs_points():
    @tool(name="lookups")
    def other(word: str) -> str:
        """Translate a word."""
        return word

    assert "almost lookups" in findings(GOOD, other)["neighbours"]


def test_our_own_tools_score_at_least_90_and_cost_less_than_4000_tokens():
    registry = Registry()
    registry.discover()
    tools = [
        tool
        for name, tool in registry.items()
        if registry.origin(name).distribution in ("tools-filesystem", "tools-shell")
    ]
    results = score(tools)
    assert len(results) == 17
    assert {result.tool: result.points for result in results if result.points < 90} == {}
    assert all(estimate_tokens(tools, wire) < 4000 for wire in (openai, anthropic, gemini))


WEAK = """
from tools_core import tool

@tool
def weather(city: str) -> str:
    "The weather."
    return city
"""


@pytest.mark.slow
def test_check_prints_lost_points_and_fails_below_the_minimum(ask_tools, tmp_path):
    (tmp_path / "weak.py").write_text(WEAK)
    output = ask_tools("check", "weak.py", "--min", "80", status=1)
    assert "  -20 purpose: it begins with 'The'; begin with the verb" in output
    assert "error: its score is " in output and "below 80" in output
    [row] = json.loads(ask_tools("check", "weak.py", "--score", "--json"))["tools"]
    assert row["score"] < 50 and row["findings"][0]["fix"].startswith("begin with the verb")


def test_scoring_takes_time_in_proportion_to_the_number_of_tools():
    def make(number):
        def change(id: int) -> str:
            return ""

        change.__doc__ = " ".join(f"word{(number * 7 + place * 13) % 997}" for place in range(30))
        return tool(change, name=f"tool_{number}")

    def calls(tools):
        count = 0

        def notice(*_):
            nonlocal count
            count += 1

        sys.setprofile(notice)
        try:
            score(tools)
        finally:
            sys.setprofile(None)
        return count

    tools = [make(number) for number in range(400)]
    calls(tools)  # fills caches
    assert calls(tools) < 12 * calls(tools[:50])
