"""`to_google_adk` and `from_google_adk`, with a model of the kit that answers as told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool, ToolContext, google_search
from google.genai import types
from samples import PNG, fail, is_cancelled, leave, picture, removal, weather

from tools_adapters import from_google_adk, to_google_adk

CONFIRMATION = "adk_request_confirmation"


class Fake(BaseLlm):
    """Calls a tool once, then answers "done"; keeps the requests."""

    model: str = "fake"
    name: str = ""
    arguments: Any = None
    requests: list[Any] = []

    async def generate_content_async(self, llm_request, stream=False):
        self.requests.append(llm_request)
        answered = any(part.function_response for part in llm_request.contents[-1].parts)
        part = (
            types.Part(text="done") if answered else types.Part.from_function_call(name=self.name, args=self.arguments)
        )
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


class Conversation:
    def __init__(self, tools, name, **arguments):
        self.model = Fake(name=name, arguments=arguments, requests=[])
        self.runner = InMemoryRunner(agent=LlmAgent(name="tester", model=self.model, tools=to_google_adk(tools)))
        self.session = None

    async def send(self, *parts, user="ann"):
        if self.session is None:
            sessions = self.runner.session_service
            self.session = await sessions.create_session(app_name=self.runner.app_name, user_id=user, session_id="talk")
        message = types.Content(role="user", parts=list(parts))
        run = self.runner.run_async(user_id=user, session_id=self.session.id, new_message=message)
        return [event async for event in run]


def converse(tools, name, user="ann", **arguments):
    """Return the responses of the called tool, and the final texts of the model."""
    conversation = Conversation(tools, name, **arguments)
    events = asyncio.run(conversation.send(types.Part(text="hi"), user=user))
    responses = [response for event in events for response in event.get_function_responses()]
    return responses, [part.text for event in events for part in event.content.parts if part.text]


def test_the_schema_repairs_messages_and_run_are_ours():
    (response,), texts = converse([weather], "weather", city="Oslo", days="3", agent="mine")
    output = response.response["result"]
    assert (output["city"], output["days"], output["names"], texts) == ("Oslo", 3, "mine", ["done"])
    (tool,) = to_google_adk([weather])
    assert tool._get_declaration().parameters_json_schema == weather.input_schema
    (wrong,), _ = converse([weather], "weather", days="x")
    assert wrong.response == {"error": 'city is required: a string; days must be an integer, got "x"'}
    (failed,), _ = converse([fail], "fail")
    assert failed.response == {"error": "no such city"}


def test_two_users_with_sessions_of_one_name_have_different_runs():
    runs = [
        converse([weather], "weather", user=user, city="Oslo")[0][0].response["result"]["run"]
        for user in ("ann", "bob", "ann")
    ]
    assert runs[0] == runs[2] != runs[1]


def test_pictures_and_documents_go_beside_the_text():
    (response,), _ = converse([picture], "picture")
    assert [part.inline_data.mime_type for part in response.parts] == ["image/png", "application/pdf"]
    assert (response.parts[0].inline_data.data, response.response["result"][:3]) == (PNG, "see")


def test_a_halt_ends_the_invocation():
    (response,), texts = converse([leave], "leave")
    assert (response.response["result"], texts) == ("bye", [])


@pytest.mark.parametrize("confirmed", [True, False])
def test_a_call_that_requires_approval_waits_for_a_confirmation(confirmed):
    remove, removed = removal()

    async def main():
        conversation = Conversation([remove], "remove", path="a")
        events = await conversation.send(types.Part(text="hi"))
        (request,) = [call for event in events for call in event.get_function_calls() if call.name == CONFIRMATION]
        assert removed == []
        assert request.args["toolConfirmation"]["payload"]["arguments"] == {"path": "a"}
        answer = types.FunctionResponse(id=request.id, name=CONFIRMATION, response={"confirmed": confirmed})
        return await conversation.send(types.Part(function_response=answer))

    responses = [response.response for event in asyncio.run(main()) for response in event.get_function_responses()]
    assert responses[-1] == ({"result": "removed a"} if confirmed else {"error": "remove was not approved"})
    assert removed == (["a"] if confirmed else [])


def test_cancelling_the_task_cancels_the_tool():
    assert is_cancelled(lambda wait: Conversation([wait], "wait").send(types.Part(text="hi")))


def test_their_tools_become_ours():
    def divide(a: int, b: int, tool_context: ToolContext) -> dict[str, float]:
        """Divide."""
        return {"quotient": a / b, "calls": len(tool_context.function_call_id)}

    async def ask(path: str, tool_context: ToolContext) -> str:
        """Ask in the middle of the call."""
        tool_context.request_confirmation(hint="sure?")
        return path

    ours = {
        tool.name: tool for tool in from_google_adk([divide, ask, FunctionTool(print_it, require_confirmation=True)])
    }
    assert ours["divide"].definition["input_schema"]["required"] == ["a", "b"]
    assert ours["divide"].call({"a": "8", "b": 2}).output == {"quotient": 4.0, "calls": 4}
    assert ours["divide"].call({"a": 1, "b": 0}).error == "ZeroDivisionError: division by zero"
    assert [tool.requires_approval for tool in ours.values()] == [False, False, True]
    assert ours["ask"].call({"path": "a"}).error_type == "approval_required"
    assert ours["print_it"].call({"text": "a"}).output == "a"
    with pytest.raises(ValueError, match="google_search cannot run outside of an agent"):
        from_google_adk([google_search])


def print_it(text: str) -> str:
    """Print."""
    return text
