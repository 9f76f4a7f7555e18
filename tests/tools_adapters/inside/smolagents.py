"""`to_smolagents`, with a model that answers as told."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import Literal

import PIL.Image
from samples import fail, leave, removal, weather
from smolagents import ChatMessage, CodeAgent, Model, ToolCallingAgent
from smolagents.agent_types import AgentImage
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction, get_tool_json_schema

from tools_adapters import to_smolagents
from tools_core import Context, Image, tool

PICTURE = BytesIO()
PIL.Image.new("RGB", (2, 2)).save(PICTURE, "PNG")


@dataclass
class Place:
    name: str
    inside: Place | None = None


@tool
def travel(
    place: Place, by: Literal["car", "train"] | None = None, then: int | list[str] = 1, km: int | None = None
) -> str:
    """Go to a place."""
    return f"{place.inside.name} {by} {then} {km}"


@tool
def picture() -> Image:
    """Show a picture."""
    return Image(PICTURE.getvalue())


class Fake(Model):
    def __init__(self, *answers):
        super().__init__(model_id="fake")
        self.answers = iter(answers)

    def generate(self, messages, **options):
        answer = next(self.answers)
        if isinstance(answer, str):
            return ChatMessage(role="assistant", content=f"<code>\n{answer}\n</code>")
        function = ChatMessageToolCallFunction(name=answer[0], arguments=answer[1])
        return ChatMessage(role="assistant", tool_calls=[ChatMessageToolCall(function, "call_1", "function")])


def observed(tools, name, arguments):
    """Return the text that a tool-calling agent reads after a call, and the agent."""
    agent = ToolCallingAgent(tools, Fake((name, arguments), ("final_answer", {"answer": ""})), verbosity_level=0)
    agent.run("hi")
    step = agent.memory.steps[1]
    return str(step.error.message if step.error else step.observations), agent


def outcome(tools, code):
    """Return the answer of a code agent, or else the text that it reads after its code."""
    agent = CodeAgent(tools, Fake(code, "final_answer('')"), verbosity_level=0)
    answer = agent.run("hi")
    step = agent.memory.steps[1]
    return str(step.error.message) if step.error else answer or step.observations


def test_the_model_reads_our_schema_without_references_and_optional_types():
    (tool,) = to_smolagents(travel)
    schema = get_tool_json_schema(tool)["function"]["parameters"]
    assert schema["required"] == ["place"]
    place, by, then, km = schema["properties"].values()
    assert (place["type"], place["properties"]["name"]) == ("object", {"type": "string"})
    assert (by["type"], by["enum"], km["type"]) == ("string", ["car", "train"], "integer")
    assert '"type": "integer"' in then["description"]
    assert "by: string" in tool.to_code_prompt()
    arguments = {"place": {"name": "a", "inside": {"name": "b"}}, "by": "car", "then": ["c"], "km": "3"}
    assert observed([tool], "travel", arguments)[0] == "b car ['c'] 3"


def test_a_name_that_python_does_not_allow_is_rewritten():
    assert [tool.name for tool in to_smolagents({"a-b": weather, "class": leave})] == ["a_b", "class_"]


def test_repairs_and_messages_are_ours():
    tools = to_smolagents([weather, fail])
    assert '"days":3' in observed(tools, "weather", {"city": "Oslo", "days": "3"})[0]
    wrong = "city must be a string, got 3; days must be an integer"
    assert wrong in observed(tools, "weather", {"city": 3, "days": "x"})[0]
    assert wrong in outcome(tools, "weather(3, 'x')")
    assert "no such city" in observed(tools, "fail", {})[0]
    assert "ToolError: no such city" in outcome(tools, "fail()")
    assert "fail takes options; got 2 arguments" in outcome(tools, "fail(1, 2)")


def test_code_receives_data_and_all_calls_belong_to_one_run():
    tools = to_smolagents(weather, context=Context(run_id="mine"))
    assert outcome(tools, "w = weather('Oslo', days=2)\nfinal_answer([w['days'], w['run']])") == [2, "mine"]


def test_a_picture_is_kept_by_agents_and_opened_for_code():
    tools = to_smolagents(picture)
    text, agent = observed(tools, "picture", {})
    assert (text, type(agent.state["image.png"])) == ("Stored 'image.png' in memory.", AgentImage)
    assert outcome(tools, "final_answer(picture().size)") == (2, 2)


def test_in_code_a_halt_is_the_final_answer():
    tools = to_smolagents(leave)
    assert outcome(tools, "leave()\nfinal_answer('never')") == "bye"
    assert outcome(tools, "leave(well=False)") == "bitter end"
    assert observed(tools, "leave", {})[0] == "bye"


def test_a_tool_that_requires_approval_refuses_to_run_without_it():
    remove, removed = removal()
    assert "needs approval" in outcome(to_smolagents(remove), "remove('a')")
    assert outcome(to_smolagents(remove, approve="all"), "final_answer(remove('b'))") == "removed b"
    assert removed == ["b"]
