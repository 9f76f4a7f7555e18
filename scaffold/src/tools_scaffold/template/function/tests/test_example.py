"""What callers of `example` rely on: its answers and its refusals."""

from typing import Any

import pytest
from tools_core import Result

from tools_example import example

# As a model sends them, and what comes back.
# region arguments
ARGUMENTS: dict[str, Any] = {"city": "Oslo", "unit": "fahrenheit"}
ANSWER: dict[str, Any] = {"city": "Oslo", "temperature": 45.5, "unit": "fahrenheit"}
# endregion


def test_it_is_still_an_ordinary_function() -> None:
    # region direct
    answer = example(city="Oslo", unit="fahrenheit")
    # endregion
    assert Result.ok(answer).to_dict()["output"] == ANSWER


def test_it_answers_what_a_model_asks() -> None:
    result = example.call(ARGUMENTS)
    assert result.ok, result.error
    assert result.to_dict()["output"] == ANSWER


# region sample
def test_an_unknown_city_is_a_result_that_says_what_would_work() -> None:
    result = example.call(city="Atlantis")
    assert result.error_type == "not_found"
    assert "known cities: Lima, Nairobi, Oslo" in str(result.error)


# endregion
@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_argument_that_does_not_fit_is_refused_by_name_before_anything_runs(name: str) -> None:
    result = example.call({**ARGUMENTS, name: {}})
    assert result.error_type == "validation_error"
    assert name in str(result.error)
