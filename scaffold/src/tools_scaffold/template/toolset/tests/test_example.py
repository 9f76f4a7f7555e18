"""What callers of the `example` tools rely on: their answers, their refusals, their common memory, their end."""

from typing import Any

import pytest

from tools_example import ExampleTools

# As a model sends them, and what comes back.
# region arguments
ARGUMENTS: dict[str, Any] = {"city": "Oslo", "unit": "fahrenheit"}
ANSWER: dict[str, Any] = {"city": "Oslo", "temperature": 45.5, "unit": "fahrenheit"}
# endregion


def test_lookup_answers_what_a_model_asks() -> None:
    result = ExampleTools().tool("lookup").call(ARGUMENTS)
    assert result.ok, result.error
    assert result.to_dict()["output"] == ANSWER


# region sample
def test_an_unknown_city_is_a_result_that_says_what_would_work() -> None:
    result = ExampleTools().tool("lookup").call(city="Atlantis")
    assert result.error_type == "not_found"
    assert "known cities: Lima, Nairobi, Oslo" in str(result.error)


# endregion
@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_argument_that_does_not_fit_is_refused_by_name_before_anything_runs(name: str) -> None:
    result = ExampleTools().tool("lookup").call({**ARGUMENTS, name: {}})
    assert result.error_type == "validation_error"
    assert name in str(result.error)


def test_history_has_the_answers_of_this_object_and_of_no_other() -> None:
    first, second = ExampleTools(), ExampleTools()
    first.tool("lookup").call(ARGUMENTS)
    assert first.tool("history").call().to_dict()["output"] == [ANSWER]
    assert second.tool("history").call().to_dict()["output"] == []


def test_finish_halts_and_hands_its_summary_over() -> None:
    result = ExampleTools().tool("finish").call(summary="It is mild in Oslo.")
    assert result.halted
    assert result.output == "It is mild in Oslo."
