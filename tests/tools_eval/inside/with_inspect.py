"""Our tools in Inspect with its own mock model, and our report as its log. Runs in a separate environment."""

import asyncio
import sys
from dataclasses import dataclass

import tiktoken
from inspect_ai.log import read_eval_log
from inspect_ai.model import ChatMessageUser, ModelOutput, execute_tools, get_model

from tools_agent import ScriptedProvider
from tools_core import ToolCall, tool
from tools_eval import Case, ExpectedCall, evaluate, to_inspect, write_inspect_logs


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

    case = Case(question="Will it rain in Oslo?", expect=ExpectedCall(tool="weather"))
    replies = [ToolCall(None, "weather", {"place": {"city": "Oslo"}}), "I do not know."]
    report = evaluate([case], {"a model": ScriptedProvider(*replies)}, tools=[weather], runs=2)
    [path] = write_inspect_logs(report, f"{folder}/ours")
    log = read_eval_log(str(path))
    assert (log.status, log.eval.model, len(log.samples)) == ("success", "a model", 2)
    assert log.results.scores[0].metrics["accuracy"].value == 0.5
    assert [sample.scores["tools"].value for sample in log.samples] == ["C", "I"]
    assert log.samples[0].messages[-1].tool_calls[0].function == "weather"


if __name__ == "__main__":
    run(sys.argv[1])
