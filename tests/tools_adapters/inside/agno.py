"""`to_agno` and `from_agno`, with a model that answers as told."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from agno.agent import Agent
from agno.media import Image as TheirImage
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.tools import Toolkit
from agno.tools import tool as their_tool
from agno.tools.function import ToolResult
from samples import PNG, is_cancelled, leave, picture, removal, weather

from tools_adapters import from_agno, to_agno
from tools_core import Image, Result

BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["run", "arun"])


@dataclass
class Scripted(Model):
    """Makes the given tool calls in its first answer, and says "done" in its second."""

    id: str = "scripted"
    calls: list[Any] = field(default_factory=list)
    seen: list[Any] = field(default_factory=list)
    definitions: list[Any] = field(default_factory=list)

    def invoke(self, messages, *args, tools=None, **keywords):
        self.seen, self.definitions = list(messages), tools
        if any(message.role == "tool" for message in messages):
            return ModelResponse(role="assistant", content="done")
        functions = [{"name": name, "arguments": json.dumps(given)} for name, given in self.calls]
        calls = [{"id": f"call_{at}", "type": "function", "function": each} for at, each in enumerate(functions)]
        return ModelResponse(role="assistant", tool_calls=calls)

    async def ainvoke(self, *args, **keywords):
        return self.invoke(*args, **keywords)

    invoke_stream = ainvoke_stream = _parse_provider_response = _parse_provider_response_delta = invoke


def agent(tools, *calls, **options):
    return Agent(model=Scripted(calls=list(calls)), tools=[to_agno(tools, **options)], telemetry=False)


def finish(value):
    return asyncio.run(value) if asyncio.iscoroutine(value) else value


def run(made, is_async=False):
    return finish((made.arun if is_async else made.run)("go", session_id="talk"))


def answers(made):
    return [message for message in made.model.seen if message.role == "tool"]


@BOTH
def test_the_schema_is_ours_and_so_are_repairs_and_messages(is_async):
    made = agent([weather], ("weather", {"city": "Oslo", "days": "3", "agent": "mine"}), ("weather", {"days": "x"}))
    assert run(made, is_async).content == "done"
    assert made.model.definitions[0]["function"]["parameters"] == weather.input_schema
    first, second = answers(made)
    expected = {"city": "Oslo", "days": 3, "names": "mine", "run": "talk", "call": "call_0"}
    assert (json.loads(first.content), first.tool_call_error) == (expected, False)
    wrong = 'city is required: a string; days must be an integer, got "x"'
    assert (second.content, second.tool_call_error) == (wrong, True)


@BOTH
def test_a_call_that_requires_approval_pauses_the_run_until_it_is_confirmed(is_async):
    remove, removed = removal()
    made = agent([remove], ("remove", {"path": "a"}))
    paused = run(made, is_async)
    assert (paused.is_paused, removed) == (True, [])
    paused.requirements[0].confirm()
    resume = made.acontinue_run if is_async else made.continue_run
    finish(resume(run_response=paused, requirements=paused.requirements))
    assert (answers(made)[0].content, removed) == ("removed a", ["a"])


def test_an_approver_of_ours_answers_in_place_of_the_pause():
    remove, removed = removal()
    calls = [("remove", {"path": "a"}), ("remove", {"path": "b"})]
    made = agent([remove], *calls, approve=lambda request: request.arguments["path"] == "a")
    run(made)
    assert [each.content.split(".")[0] for each in answers(made)] == ["removed a", "remove was not approved"]
    assert removed == ["a"]


@BOTH
@pytest.mark.parametrize("well", [True, False])
def test_a_halt_ends_the_run_and_no_later_one(well, is_async):
    made = agent([leave, weather], ("leave", {"well": well}))
    ended = run(made, is_async)
    (execution,) = ended.tools
    assert (execution.result, execution.tool_call_error) == (("bye", False) if well else ("bitter end", True))
    assert ended.content == ("bye" if well else "")
    made.model.calls = [("weather", {"city": "Oslo"})]
    assert run(made).content == "done"


def test_pictures_and_pdfs_go_to_the_model_beside_the_text():
    made = agent([picture], ("picture", {}))
    ended = run(made)
    assert answers(made)[0].content.endswith("[file, text/plain]\nwords")
    assert [image.content for image in ended.images] == [PNG]
    assert [image.content for message in made.model.seen for image in message.images or []] == [PNG]
    assert [each.filename for message in made.model.seen for each in message.files or []] == ["a.pdf"]


def test_cancelling_an_asynchronous_run_cancels_its_tool():
    assert is_cancelled(lambda wait: agent([wait], ("wait", {})).arun("go"))


def test_their_tools_become_ours():
    @their_tool(requires_confirmation=True)
    def remove(path: str) -> str:
        """Remove a file."""
        return f"removed {path}"

    @their_tool(stop_after_tool_call=True)
    async def last() -> str:
        """Say the last word."""
        return "bye"

    @their_tool
    def show() -> ToolResult:
        """Show a picture."""
        return ToolResult(content="here", images=[TheirImage(content=PNG, mime_type="image/png")])

    def plain(number: int) -> int:
        """Divide."""
        return 10 // number

    def stream():
        """Stream."""
        yield "a"
        yield "b"

    found = {each.name: each for each in from_agno([remove, Toolkit(tools=[last, show]), plain, stream])}
    assert found["remove"].requires_approval
    assert found["remove"].call(path="x").output == "removed x"
    assert found["last"].call() == Result.halt("bye")
    assert found["show"].call().content == ("here", Image(PNG))
    assert found["plain"].call(number=5).output == 2
    assert "division" in (found["plain"].call(number=0).error or "")
    assert found["plain"].call().error_type == "validation_error"
    assert found["stream"].call().output == "ab"


def test_a_function_that_waits_for_its_user_is_refused():
    @their_tool(external_execution=True)
    def outside() -> str:
        """Run elsewhere."""

    with pytest.raises(ValueError, match="outside cannot run outside of an Agno agent"):
        from_agno([outside])
