"""Our tools in Inspect with its own mock model. Runs in a separate environment."""

import asyncio
import sys
from dataclasses import dataclass

import tiktoken
from inspect_ai.model import ChatMessageUser, ModelOutput, execute_tools, get_model

from tools_core import tool
from tools_eval import to_inspect


class Tokens:
    """Counts tokens instead of tiktoken, whose vocabulary is a download."""

    def encode(self, text, **options):
        return text.split()


tiktoken.get_encoding = tiktoken.encoding_for_model = lambda *names: Tokens()


@dataclass
class Place:
    city: str


@tool(read_only=True)
def weather(place: Place, days: int = 1) -> str:
    """Forecast the weather of a place."""
    return f"{place.city}: dry for {days} days"


@tool(requires_approval=True)
def erase(city: str) -> str:
    """Erase a forecast."""
    return f"erased {city}"


async def converse(model, tools):
    """Return the results of the model's calls."""
    messages = [ChatMessageUser(content="Will it rain?")]
    while True:
        output = await model.generate(messages, tools=tools)
        messages.append(output.message)
        if not output.message.tool_calls:
            return [message for message in messages if message.role == "tool"]
        messages += (await execute_tools(messages, tools)).messages


def run(folder):
    def call(name, arguments):
        return ModelOutput.for_tool_call("mockllm/model", name, arguments)

    outputs = [
        call("weather", {"place": {"city": "Oslo"}, "days": 2}),
        call("weather", {"place": {"city": 3}}),
        call("erase", {"city": "Oslo"}),
        ModelOutput.from_content("mockllm/model", "It stays dry."),
    ]
    tools = to_inspect([weather, erase])
    results = asyncio.run(converse(get_model("mockllm/model", custom_outputs=outputs), tools))
    assert results[0].text == "Oslo: dry for 2 days"
    assert results[1].error is not None
    assert "approval" in results[2].error.message


if __name__ == "__main__":
    run(sys.argv[1])
