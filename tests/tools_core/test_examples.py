"""Examples of calls, and defaults: both must fit the schema."""

from dataclasses import InitVar, dataclass
from datetime import date
from typing import Annotated, Any, Literal

import pytest

from tools_core import DefinitionError, Limits, Parameter, Tool, Toolset, tool


@tool(examples=[{"city": "Oslo"}, {"city": "Rome", "day": "2026-11-24"}], deferred=True, verify="read_log")
def forecast(city: str, day: date | None = None) -> str:
    """Forecast the weather."""
    return f"{city} {day}"


def test_examples_are_kept_and_read_only():
    with pytest.raises(TypeError, match="read-only"):
        forecast.examples[0]["city"] = "changed"
    assert forecast.examples == [{"city": "Oslo"}, {"city": "Rome", "day": "2026-11-24"}]
    assert forecast.definition["examples"] == forecast.examples
    assert (forecast.deferred, forecast.verify) == (True, "read_log")


@pytest.mark.parametrize(
    ("examples", "message"),
    [
        ([{"city": "Oslo"}, {"city": 5}], "example 2 is not a valid call: city must be a string, got 5"),
        ([{}], "example 1 is not a valid call: city is required"),
        ([{"city": "Oslo", "day": "soon"}], "example 1 is not a valid call: day must be a date"),
        (["Oslo"], "example 1 must be a dict of arguments, got 'Oslo'"),
    ],
    ids=range(4),
)
def test_an_invalid_example_is_refused_by_number(examples, message):
    with pytest.raises(DefinitionError, match=message):
        tool(forecast, examples=examples)


def test_classes_and_methods_of_toolsets_have_examples():
    class Search(Tool):
        """Search."""

        examples = [{"query": "x"}]

        def execute(self, query: str) -> None: ...

    class Narrow(Search):
        """Search with other parameters."""

        def execute(self, text: str) -> None: ...  # type: ignore[override]

    class Wide(Search):
        """Search with other examples."""

        examples = [{"query": "y"}]

    class Notes(Toolset):
        @tool(examples=[{"text": "buy milk"}])
        def add(self, text: str) -> None:
            """Add a note."""

    assert (Search().examples, Narrow.examples, Wide.examples) == ([{"query": "x"}], [], [{"query": "y"}])
    assert Notes().tool("add").examples == [{"text": "buy milk"}]


@pytest.mark.parametrize(
    ("hint", "default"),
    [
        (int, "three"),
        (str, 5),
        (bool, 0),
        (Literal["a", "b"], "c"),
        (list[int], ["x"]),
        (Annotated[int, Limits(ge=1)], 0),
    ],
    ids=str,
)
def test_a_default_that_does_not_fit_its_hint_is_refused(hint, default):
    def take(x: Any = default) -> None: ...

    take.__annotations__["x"] = hint
    with pytest.raises(DefinitionError, match=r"take: the default of x.* change the default or the type hint"):
        tool(take)


@dataclass
class Range:
    start: int
    length: InitVar[int] = 1
    end: int = 0

    def __post_init__(self, length: int) -> None:
        self.end = self.start + length


def test_init_variables_of_a_dataclass_are_arguments():
    @tool
    def last(span: Range) -> int:
        """Return the last line of a range."""
        return span.end

    assert last.input_schema["properties"]["span"]["properties"]["length"] == {"type": "integer", "default": 1}
    assert last.call(span={"start": 2, "length": 5}).output == 7


def test_a_declared_float_arrives_as_a_float():
    class Half(Tool):
        """Halve a number."""

        parameters: Any = [Parameter("x", float), Parameter("ys", list, items=float, default=[])]

        def execute(self, x: float, ys: list[float]) -> str:
            return repr([x, *ys])

    assert Half().call(x=1, ys=[2]).output == "[1.0, 2.0]"


def test_a_parameter_takes_any_type_hint():
    days = tool(lambda day: day.year, name="days", parameters=[Parameter("day", date, "A day")])
    assert days.call(day="2026-11-24").output == 2026
