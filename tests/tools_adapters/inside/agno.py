"""`to_agno`, with a model that answers as told."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from agno.agent import Agent
from agno.models.base import Model
from agno.models.response import ModelResponse
from samples import PNG, is_cancelled, leave, picture, removal, weather

from tools_adapters import to_agno

BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["run", "arun"])


@dataclass
class Scripted(Model):
    """Call the tools of `calls` first, then answer "done"."""

    id: str = "scripted"
    calls: list[Any] = field(default_factory=list)
    requests: list[Any] = field(default_factory=list)
    definitions: list[Any] = field(default_factory=list)

    def invoke(self, messages, *args, tools=None, **keywords):
        self.requests, self.definitions = list(messages), tools
        if any(message.role == "tool" for message in messages):
            return ModelResponse(role="assistant", content="done")
        functions = [{"name": name, "arguments": json.dumps(arguments)} for name, arguments in self.calls]
        calls = [
            {"id": f"call_{at}", "type": "function", "function": function} for at, function in enumerate(functions)
        ]
        return ModelResponse(role="assistant", tool_calls=calls)

    async def ainvoke(self, *args, **keywords):
        return self.invoke(*args, **keywords)

    invoke_stream = ainvoke_stream = _parse_provider_response = _parse_provider_response_delta = invoke


def build_agent(tools, *calls, **options):
    return Agent(model=Scripted(calls=list(calls)), tools=[to_agno(tools, **options)], telemetry=False)


def finish(value):
    return asyncio.run(value) if asyncio.iscoroutine(value) else value


def run(agent, is_async=False):
    return finish((agent.arun if is_async else agent.run)("go", session_id="talk"))


def answers(agent):
    return [message for message in agent.model.requests if message.role == "tool"]


@BOTH
def test_the_schema_is_ours_and_so_are_repairs_and_messages(is_async):
    agent = build_agent(
        [weather], ("weather", {"city": "Oslo", "days": "3", "agent": "mine"}), ("weather", {"days": "x"})
    )
    assert run(agent, is_async).content == "done"
    assert agent.model.definitions[0]["function"]["parameters"] == weather.input_schema
    first, second = answers(agent)
    expected = {"city": "Oslo", "days": 3, "names": "mine", "run": "talk", "call": "call_0"}
    assert (json.loads(first.content), first.tool_call_error) == (expected, False)
    wrong = 'city is required: a string; days must be an integer, got "x"'
    assert (second.content, second.tool_call_error) == (wrong, True)


@BOTH
def test_a_call_that_requires_approval_pauses_the_run_until_it_is_confirmed(is_async):
    remove, removed = removal()
    agent = build_agent([remove], ("remove", {"path": "a"}))
    paused = run(agent, is_async)
    assert (paused.is_paused, removed) == (True, [])
    paused.requirements[0].confirm()
    resume = agent.acontinue_run if is_async else agent.continue_run
    finish(resume(run_response=paused, requirements=paused.requirements))
    assert (answers(agent)[0].content, removed) == ("removed a", ["a"])


def test_an_approver_of_ours_answers_in_place_of_the_pause():
    remove, removed = removal()
    calls = [("remove", {"path": "a"}), ("remove", {"path": "b"})]
    agent = build_agent([remove], *calls, approve=lambda request: request.arguments["path"] == "a")
    run(agent)
    assert [answer.content.split(".")[0] for answer in answers(agent)] == ["removed a", "remove was not approved"]
    assert removed == ["a"]


@BOTH
@pytest.mark.parametrize("well", [True, False])
def test_a_halt_ends_the_run_and_no_later_one(well, is_async):
    agent = build_agent([leave, weather], ("leave", {"well": well}))
    response = run(agent, is_async)
    (execution,) = response.tools
    assert (execution.result, execution.tool_call_error) == (("bye", False) if well else ("bitter end", True))
    assert response.content == ("bye" if well else "")
    agent.model.calls = [("weather", {"city": "Oslo"})]
    assert run(agent).content == "done"


def test_pictures_and_pdfs_go_to_the_model_beside_the_text():
    agent = build_agent([picture], ("picture", {}))
    response = run(agent)
    assert answers(agent)[0].content.endswith("[file, text/plain]\nwords")
    assert [image.content for image in response.images] == [PNG]
    assert [image.content for message in agent.model.requests for image in message.images or []] == [PNG]
    assert [file.filename for message in agent.model.requests for file in message.files or []] == ["a.pdf"]


def test_cancelling_an_asynchronous_run_cancels_its_tool():
    assert is_cancelled(lambda wait: build_agent([wait], ("wait", {})).arun("go"))
