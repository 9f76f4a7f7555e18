"""What callers of `example` rely on: its contract, its answers, its refusals."""

from importlib.metadata import Distribution, PackageNotFoundError
from random import Random
from typing import Any

import pytest
from tools_core import Registry

from tools_example import example

DISTRIBUTION = "tools-example"


def test_the_definition_tells_a_model_all_it_needs() -> None:
    contract = example.definition
    assert contract["name"] == "example"
    assert contract["description"].startswith("Look up")
    input_schema = contract["input_schema"]
    assert input_schema["required"] == ["city"]
    assert input_schema["properties"]["unit"]["enum"] == ["celsius", "fahrenheit"]


def test_every_parameter_is_described() -> None:
    input_schema = example.definition["input_schema"]
    assert [name for name, part in input_schema["properties"].items() if not part.get("description")] == []


def test_it_is_still_an_ordinary_function() -> None:
    result = example("Oslo")
    assert result == {"city": "Oslo", "temperature": 7.5, "unit": "celsius"}


@pytest.mark.parametrize(
    "arguments", [{"city": "lima", "unit": "fahrenheit"}, '{"city": "lima", "unit": "fahrenheit"}']
)
def test_it_answers_a_mapping_and_the_text_that_a_model_sends(arguments: Any) -> None:
    result = example.call(arguments)
    assert result.is_ok, result.error_message
    assert result.output == {"city": "Lima", "temperature": pytest.approx(65.3), "unit": "fahrenheit"}


def test_an_unknown_city_is_a_result_that_says_what_would_work() -> None:
    result = example.call(city="Atlantis")
    assert result.error_type == "not_found"
    assert "known cities: Lima, Nairobi, Oslo" in str(result.error_message)


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({}, id="missing"),
        pytest.param({"city": 7}, id="wrong type"),
        pytest.param({"city": "Oslo", "unit": "kelvin"}, id="no choice"),
        pytest.param({"city": "Oslo", "town": "Oslo"}, id="unknown"),
        pytest.param('{"city": "Oslo"', id="cut off"),
        pytest.param("[]", id="no object"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_before_anything_runs(arguments: Any) -> None:
    result = example.call(arguments)
    assert result.error_type == "validation_error"


def test_whatever_arrives_is_answered_with_a_result() -> None:
    chance = Random(2026)
    outcomes = set()
    for _ in range(1000):
        arguments = {
            name: likely if chance.random() < 0.5 else anything(chance)
            for name, likely in [("city", "Oslo"), ("unit", "celsius"), ("town", "Oslo")]
            if chance.random() < 0.7
        }
        result = example.call(arguments)
        outcomes.add(result.error_type)
    assert outcomes == {None, "not_found", "validation_error"}


def test_an_installation_is_a_registration() -> None:
    try:
        Distribution.from_name(DISTRIBUTION)
    except PackageNotFoundError:
        pytest.skip("not installed; python -m pip install --editable .")
    tools = Registry()
    tools.discover()
    found = tools[f"{DISTRIBUTION}:{example.name}"]
    assert found.definition == example.definition


def anything(chance: Random, depth: int = 3) -> Any:
    """Make up a value, as a confused model might."""
    if depth == 0 or chance.random() < 0.7:
        return chance.choice(
            [None, True, -1, 10**30, 0.5, float("nan"), "", "Oslo", "celsius", "\x00é☃", "{"]
        )
    parts = [anything(chance, depth - 1) for _ in range(chance.randrange(4))]
    return parts if chance.random() < 0.5 else {str(part): part for part in parts}
