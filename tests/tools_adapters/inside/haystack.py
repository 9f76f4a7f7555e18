"""`to_haystack`, with a chat generator that answers as told."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from haystack import component
from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage, FileContent, TextContent, ToolCall
from haystack.hooks import human_in_the_loop as hitl
from samples import PNG, fail, is_cancelled, leave, picture, removal, weather

from tools_adapters import to_haystack
from tools_core import Context, Image

BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["run", "run_async"])
PICTURE = (Image(PNG).to_dict()["data"], "image/png")


@component
class Scripted:
    """Call the tools of `calls` first, then answer "done"."""

    def __init__(self, calls: list[tuple[str, dict[str, Any]]]) -> None:
        self.calls = calls
        self.definitions: list[Any] = []

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None) -> dict[str, Any]:
        self.definitions = [tool.tool_spec for tool in tools]
        if any(message.tool_call_results for message in messages):
            return {"replies": [ChatMessage.from_assistant("done")]}
        calls = [ToolCall(name, arguments, id=f"call_{at}") for at, (name, arguments) in enumerate(self.calls)]
        return {"replies": [ChatMessage.from_assistant(tool_calls=calls)]}

    @component.output_types(replies=list[ChatMessage])
    async def run_async(self, messages: list[ChatMessage], tools: Any = None) -> dict[str, Any]:
        return self.run(messages, tools)


def run(tools, *calls, is_async=False, hooks=None, **options):
    agent = Agent(chat_generator=Scripted(list(calls)), tools=to_haystack(tools, **options), hooks=hooks)
    messages = [ChatMessage.from_user("go")]
    state = asyncio.run(agent.run_async(messages=messages)) if is_async else agent.run(messages=messages)
    return (
        state,
        [result for message in state["messages"] for result in message.tool_call_results],
        agent.chat_generator,
    )


@BOTH
def test_the_schema_is_ours_and_so_are_repairs_and_messages(is_async):
    calls = [("weather", {"city": "Oslo", "days": "3"}), ("weather", {"days": "x"}), ("fail", {})]
    context = Context(run_id="talk")
    state, (first, second, third), model = run([weather, fail], *calls, is_async=is_async, context=context)
    assert state["last_message"].text == "done"
    assert model.definitions[0]["parameters"] == weather.input_schema
    output = json.loads(first.result)
    assert (output["days"], output["run"], first.error) == (3, "talk", False)
    wrong = 'city is required: a string; days must be an integer, got "x"'
    assert (second.result, second.error) == (wrong, True)
    assert (third.result, third.error) == ("no such city", True)


@BOTH
@pytest.mark.parametrize("well", [True, False])
def test_a_halt_ends_the_run(well, is_async):
    state, (answer,), _ = run([leave], ("leave", {"well": well}), is_async=is_async)
    assert answer.result == ("bye" if well else "bitter end")
    assert state["exit_reason"] == "halted by leave"
    assert state["last_message"].tool_call_results == [answer]


def test_pictures_and_pdfs_go_to_the_model():
    _, (answer,), _ = run([picture], ("picture", {}))
    text, image, pdf, words = answer.result
    assert (text, words) == (TextContent("see"), TextContent("[file, text/plain]\nwords"))
    assert (image.base64_image, image.mime_type) == PICTURE
    assert (type(pdf), pdf.filename) == (FileContent, "a.pdf")


@BOTH
@pytest.mark.parametrize(
    ("decision", "result", "done"),
    [
        (hitl.ConfirmationUIResult("confirm"), "removed a", ["a"]),
        (hitl.ConfirmationUIResult("modify", new_tool_params={"path": "b"}), "removed b", ["b"]),
        (hitl.ConfirmationUIResult("reject", feedback="never"), "never", []),
    ],
)
def test_a_confirmation_hook_decides_about_a_call_that_requires_approval(decision, result, done, is_async):
    class Ui:
        def get_user_confirmation(self, tool_name, tool_description, tool_params):
            return decision

    remove, removed = removal()
    strategy = hitl.BlockingConfirmationStrategy(confirmation_policy=hitl.AlwaysAskPolicy(), confirmation_ui=Ui())
    hooks = {"before_tool": [hitl.ConfirmationHook({"remove": strategy})]}
    _, (answer,), _ = run([remove], ("remove", {"path": "a"}), is_async=is_async, hooks=hooks, approve="all")
    assert result in answer.result
    assert removed == done


def test_without_approval_such_a_call_is_refused():
    remove, removed = removal()
    _, (answer,), _ = run([remove], ("remove", {"path": "a"}))
    assert answer.result.startswith("remove needs approval by the user and was not run")
    assert (answer.error, removed) == (True, [])


def test_cancelling_an_asynchronous_run_cancels_its_tool():
    def start(wait):
        agent = Agent(chat_generator=Scripted([("wait", {})]), tools=to_haystack(wait))
        return agent.run_async(messages=[ChatMessage.from_user("go")])

    assert is_cancelled(start)
