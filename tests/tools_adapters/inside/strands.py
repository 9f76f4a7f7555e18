"""`to_strands`, with a model of Strands that answers as told."""

from __future__ import annotations

import asyncio
import json

import pytest
from samples import PNG, fail, is_cancelled, leave, picture, removal, weather
from strands import Agent
from strands.models import Model

from tools_adapters import to_strands


class Fake(Model):
    """Calls a tool, then answers "done"."""

    def __init__(self, name, arguments):
        self.name, self.arguments = name, arguments

    def get_config(self):
        return {}

    def update_config(self, **config):
        pass

    async def structured_output(self, *request, **options):
        raise NotImplementedError
        yield

    async def stream(self, messages, *request, **options):
        answered = any("toolResult" in part for part in messages[-1]["content"])
        yield {"messageStart": {"role": "assistant"}}
        start = {} if answered else {"toolUse": {"name": self.name, "toolUseId": "call_1"}}
        yield {"contentBlockStart": {"start": start}}
        delta = {"text": "done"} if answered else {"toolUse": {"input": json.dumps(self.arguments)}}
        yield {"contentBlockDelta": {"delta": delta}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if answered else "tool_use"}}


def agent(tools, name, **arguments):
    return Agent(model=Fake(name, arguments), tools=to_strands(tools), callback_handler=None)


def results_of(conversation):
    parts = [part for message in conversation.messages for part in message["content"]]
    return [part["toolResult"] for part in parts if "toolResult" in part]


def result_of(tools, name, **arguments):
    conversation = agent(tools, name, **arguments)
    conversation("hi")
    (result,) = results_of(conversation)
    return result


def test_the_schema_repairs_and_messages_are_ours():
    result = result_of([weather], "weather", city="Oslo", days="3", agent="mine")
    output = json.loads(result["content"][0]["text"])
    assert (output["days"], output["names"], output["call"], result["status"]) == (3, "mine", "call_1", "success")
    (tool,) = to_strands([weather])
    assert tool.tool_spec["inputSchema"]["json"] == weather.input_schema
    wrong = result_of([weather], "weather", days="x")
    message = 'city is required: a string; days must be an integer, got "x"'
    assert (wrong["status"], wrong["content"]) == ("error", [{"text": message}])
    assert result_of([fail], "fail")["content"] == [{"text": "no such city"}]


def test_the_run_is_the_agent():
    def run_of(conversation):
        conversation("hi")
        return json.loads(results_of(conversation)[-1]["content"][0]["text"])["run"]

    conversation = agent([weather], "weather", city="Oslo")
    assert run_of(conversation) == run_of(conversation) != run_of(agent([weather], "weather", city="Oslo"))


def test_pictures_and_documents_are_parts_of_the_result():
    text, image, document, words = result_of([picture], "picture")["content"]
    assert (text["text"], image["image"]["format"], image["image"]["source"]["bytes"]) == ("see", "png", PNG)
    assert (document["document"]["format"], "words" in words["text"]) == ("pdf", True)


def test_progress_is_a_stream_event():
    async def reports():
        events = agent([weather], "weather", city="Oslo").stream_async("hi")
        return [event["tool_stream_event"]["data"] async for event in events if "tool_stream_event" in event]

    assert asyncio.run(reports())[0] == {"done": 1, "total": 2, "message": "half"}


def test_a_halt_ends_the_loop_with_its_text():
    assert str(agent([leave], "leave")("hi")).strip() == "bye"


@pytest.mark.parametrize(
    ("answer", "text", "paths"),
    [
        ("approve", "removed a", ["a"]),
        ({"arguments": {"path": "b"}}, "removed b", ["b"]),
        ("too risky", "remove was not approved: too risky", []),
    ],
)
def test_a_call_that_requires_approval_interrupts_the_agent(answer, text, paths):
    remove, removed = removal()
    conversation = agent([remove], "remove", path="a")
    first = conversation("hi")
    (interrupt,) = first.interrupts
    assert (first.stop_reason, interrupt.name, removed) == ("interrupt", "remove", [])
    assert interrupt.reason["arguments"] == {"path": "a"}
    conversation([{"interruptResponse": {"interruptId": interrupt.id, "response": answer}}])
    assert results_of(conversation)[-1]["content"] == [{"text": text}]
    assert removed == paths


def test_cancelling_the_task_cancels_the_tool():
    assert is_cancelled(lambda wait: agent([wait], "wait").invoke_async("hi"))
