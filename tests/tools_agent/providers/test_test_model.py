from datetime import date
from enum import Enum
from typing import Annotated, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel, Field

from tools_agent import Agent, ProviderError, TestModel, ToolResult
from tools_core import tool


class Colour(Enum):
    RED = "red"


class Node(BaseModel):
    name: Annotated[str, Field(min_length=3)]
    children: list["Node"] = []
    parent: "Node | None"


@tool
def book(
    day: date,
    nights: Annotated[int, Field(gt=0, le=30, multiple_of=7)],
    price: Annotated[float, Field(gt=0, lt=1)],
    colour: Colour,
    kind: Literal["single", "double"],
    guests: Annotated[list[str], Field(min_length=2)],
    node: Node,
    id: UUID,
    note: str | None,
    pair: tuple[int, bool],
    extras: dict[str, int],
    comment: str = "",
) -> str:
    """Book a room."""
    return f"booked {nights} nights"


@tool(examples=[{"city": "Oslo"}, {"city": "Rome"}])
def weather(city: str) -> str:
    """Forecast for a city."""
    return f"{city}: sunny"


def test_every_tool_is_called_once_with_valid_arguments_before_the_reply():
    model = TestModel("All done.")
    agent = Agent(model=model, tools=[book, weather])
    assert agent.generate("Hi").content == "All done."
    results = [message for message in agent.session.messages if isinstance(message, ToolResult)]
    assert [(message.name, message.content) for message in results] == [
        ("book", "booked 7 nights"),
        ("weather", "Oslo: sunny"),
    ]
    agent.generate("Again")
    assert len(model.calls) == 4


def test_the_reply_matches_the_type_of_the_output():
    class Answer(BaseModel):
        text: str
        score: int = Field(ge=3)

    response = Agent(model=TestModel(), output=Answer).generate("Hi")
    assert Answer.model_validate_json(response.content).score == 3


def test_a_schema_without_an_obvious_value_needs_an_example():
    @tool
    def lookup(code: Annotated[str, Field(pattern="^[A-Z]{3}-[0-9]+$")]) -> str:
        """Look up a code."""
        return code

    with pytest.raises(ProviderError, match="for the tool `lookup`; add `examples`"):
        Agent(model=TestModel(), tools=[lookup]).generate("Hi")
