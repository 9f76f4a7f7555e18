"""Run in an environment with agno, by test_frameworks.py."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
from agno.agent import Agent
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.tools import Toolkit
from agno.tools import tool as agno_tool
from agno.tools.function import ToolResult

from tools_adapters import from_agno, to_agno
from tools_core import Context, Halt, Image, Result, ToolError, tool
from tools_runtime import Executor, Policy

PNG = b"\x89PNG\r\n\x1a\n"


@dataclass
class Scripted(Model):
    """Makes the given tool calls in its first answer, and says "done" in its second."""

    id: str = "scripted"
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    seen: list[Any] = field(default_factory=list)
    definitions: list[Any] = field(default_factory=list)

    def invoke(self, messages: Any, *args: Any, tools: Any = None, **keywords: Any) -> ModelResponse:
        self.seen = list(messages)
        self.definitions = tools
        if any(message.role == "tool" for message in messages):
            return ModelResponse(role="assistant", content="done")
        functions = [{"name": name, "arguments": json.dumps(given)} for name, given in self.calls]
        calls = [{"id": f"call_{at}", "type": "function", "function": each} for at, each in enumerate(functions)]
        return ModelResponse(role="assistant", tool_calls=calls)

    async def ainvoke(self, *args: Any, **keywords: Any) -> ModelResponse:
        return self.invoke(*args, **keywords)

    def invoke_stream(self, *args: Any, **keywords: Any) -> Any:
        yield self.invoke(*args, **keywords)

    async def ainvoke_stream(self, *args: Any, **keywords: Any) -> Any:
        yield self.invoke(*args, **keywords)

    def _parse_provider_response(self, response: Any, **keywords: Any) -> ModelResponse:
        return response

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        return response


@tool
def count(items: Annotated[list[int], "The numbers"], agent: str = "us", fc: str = "none") -> str:
    """Count numbers."""
    return f"{len(items)} for {agent}, {fc}"


@tool(requires_approval=True)
def erase(path: str, context: Context) -> str:
    """Erase a file."""
    return f"erased {path} in {context.run_id} as {context.call_id}"


@tool
def fail() -> str:
    """Fail."""
    raise ToolError("no such place; try here", "not_found")


@tool
def stop(well: bool) -> str:
    """End the run."""
    raise Halt("the end" if well else Result.error("the bitter end"))


@tool
def draw() -> list[Any]:
    """Draw."""
    return ["a dot", Image(PNG)]


TOOLS = [count, erase, fail, stop, draw]


def agent(*calls, approve=None, tools=TOOLS, **options):
    model = Scripted(calls=list(calls))
    given = to_agno(tools, approve=approve, **options)
    return Agent(model=model, tools=[given], telemetry=False), model


def answers(model):
    return [message for message in model.seen if message.role == "tool"]


@pytest.mark.parametrize("is_async", [False, True])
def test_the_model_sees_our_schema_and_a_call_is_validated_and_repaired_by_the_tool(is_async):
    made, model = agent(("count", {"items": "[1, 2]", "agent": "me", "fc": "him"}), ("count", {"items": ["x"]}))
    run = asyncio.run(made.arun("go")) if is_async else made.run("go")
    assert run.content == "done"
    definition = next(each["function"] for each in model.definitions if each["function"]["name"] == "count")
    assert definition["parameters"] == count.input_schema
    first, second = answers(model)
    assert (first.content, first.tool_call_error) == ("2 for me, him", False)
    assert "items" in second.content
    assert second.tool_call_error


@pytest.mark.parametrize("is_async", [False, True])
def test_a_call_that_requires_approval_pauses_the_run_until_it_is_confirmed(is_async):
    made, model = agent(("erase", {"path": "a.txt"}))
    start, resume = (made.arun, made.acontinue_run) if is_async else (made.run, made.continue_run)

    def finish(value):
        return asyncio.run(value) if is_async else value

    paused = finish(start("go", session_id="s1"))
    assert paused.is_paused
    assert answers(model) == []
    paused.requirements[0].confirm()
    finish(resume(run_response=paused, requirements=paused.requirements))
    assert [each.content for each in answers(model)] == ["erased a.txt in s1 as call_0"]


def test_an_approver_of_ours_answers_in_place_of_the_pause():
    calls = [("erase", {"path": "a.txt"}), ("erase", {"path": "b.txt"})]
    made, model = agent(*calls, approve=lambda request: request.arguments["path"] == "a.txt")
    made.run("go", session_id="s1")
    assert [each.content for each in answers(model)] == ["erased a.txt in s1 as call_0", "erase was not approved"]


def test_an_executor_makes_the_calls_under_its_policy():
    policy = Policy([{"decision": "deny", "tool": "erase"}], files=(), project=False, default="allow")
    with Executor(TOOLS, policy=policy) as executor:
        made, model = agent(("erase", {"path": "a.txt"}), ("count", {"items": [1]}), executor=executor)
        made.run("go")
    assert [each.tool_call_error for each in answers(model)] == [True, False]


def test_a_failure_is_a_tool_call_error_with_the_message_alone():
    made, model = agent(("fail", {}))
    made.run("go")
    (answer,) = answers(model)
    assert (answer.content, answer.tool_call_error) == ("no such place; try here", True)


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("well", [True, False])
def test_a_halt_ends_the_run_and_no_later_one(well, is_async):
    made, _ = agent(("stop", {"well": well}))
    run = asyncio.run(made.arun("go")) if is_async else made.run("go")
    (execution,) = run.tools
    assert (execution.result, execution.tool_call_error) == (("the end", False) if well else ("the bitter end", True))
    assert run.content != "done"
    made.model.calls = [("count", {"items": []})]
    assert made.run("go").content == "done"


def test_pictures_go_to_the_model_beside_the_text():
    made, model = agent(("draw", {}))
    run = made.run("go")
    assert answers(model)[0].content.startswith("a dot")
    assert [image.content for image in run.images] == [PNG]
    assert [image.content for message in model.seen for image in message.images or []] == [PNG]


def test_cancelling_an_asynchronous_run_cancels_its_tool():
    started, cancelled = asyncio.Event(), threading.Event()

    @tool
    async def wait() -> None:
        """Wait."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async def main():
        made, _ = agent(("wait", {}), tools=[wait])
        task = asyncio.create_task(made.arun("go"))
        await started.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())
    assert cancelled.is_set()


def test_tools_of_agno_run_here_with_their_errors_pictures_and_flags():
    @agno_tool(requires_confirmation=True)
    def remove(path: str) -> str:
        """Remove a file."""
        return f"removed {path}"

    @agno_tool(stop_after_tool_call=True)
    async def last() -> str:
        """Say the last word."""
        return "bye"

    @agno_tool
    def picture() -> ToolResult:
        """Make a picture."""
        from agno.media import Image as TheirImage

        return ToolResult(content="here", images=[TheirImage(content=PNG, mime_type="image/png")])

    def plain(number: int) -> int:
        """Divide.

        Args:
            number: The divisor.
        """
        return 10 // number

    def stream():
        """Stream."""
        yield "a"
        yield "b"

    found = {each.name: each for each in from_agno([remove, Toolkit(tools=[last, picture]), plain, stream])}
    assert found["remove"].requires_approval
    assert found["remove"].call(path="x").output == "removed x"
    assert found["last"].call() == Result.halt("bye")
    assert found["picture"].call().content == ("here", Image(PNG))
    assert found["plain"].input_schema["properties"]["number"]["type"] in ("integer", "number")
    assert found["plain"].call(number=5).output == 2
    assert "division" in (found["plain"].call(number=0).error or "")
    assert found["stream"].call().output == "ab"
    assert found["plain"].call().error_type == "validation_error"


def test_a_function_that_waits_for_its_user_is_refused():
    @agno_tool(external_execution=True)
    def outside() -> str:
        """Run elsewhere."""

    with pytest.raises(ValueError, match="outside cannot run outside of an Agno agent"):
        from_agno([outside])
