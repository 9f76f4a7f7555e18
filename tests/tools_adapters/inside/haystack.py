"""Run in an environment with haystack-ai, by test_frameworks.py."""

from __future__ import annotations

import asyncio
import threading
from typing import Annotated, Any

import pytest
from haystack import component
from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage, ImageContent, TextContent, ToolCall
from haystack.hooks.human_in_the_loop import (
    AlwaysAskPolicy,
    BlockingConfirmationStrategy,
    ConfirmationUIResult,
)
from haystack.tools import Tool as HaystackTool
from haystack.tools import Toolset

from tools_adapters import from_haystack, to_haystack
from tools_core import Context, Halt, Image, Result, ToolError, tool
from tools_runtime import Executor, Policy

PNG = b"\x89PNG\r\n\x1a\n"
PICTURE = (Image(PNG).to_dict()["data"], "image/png")


@component
class Scripted:
    """Makes the given tool calls in its first answer, and says "done" in its second."""

    def __init__(self, calls: list[tuple[str, dict[str, Any]]]) -> None:
        self.calls = calls
        self.definitions: list[Any] = []

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None, streaming_callback: Any = None) -> dict[str, Any]:
        self.definitions = [each.tool_spec for each in tools]
        if any(message.tool_call_results for message in messages):
            return {"replies": [ChatMessage.from_assistant("done")]}
        calls = [ToolCall(name, given, id=f"call_{at}") for at, (name, given) in enumerate(self.calls)]
        return {"replies": [ChatMessage.from_assistant(tool_calls=calls)]}

    @component.output_types(replies=list[ChatMessage])
    async def run_async(
        self, messages: list[ChatMessage], tools: Any = None, streaming_callback: Any = None
    ) -> dict[str, Any]:
        return self.run(messages, tools)


@tool
def count(items: Annotated[list[int], "The numbers"], of: str = "us") -> str:
    """Count numbers."""
    return f"{len(items)} of {of}"


@tool(requires_approval=True)
def erase(path: str) -> str:
    """Erase a file."""
    return f"erased {path}"


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


@tool
def work(context: Context) -> str:
    """Work."""
    context.progress(1, 2, "half")
    return "worked"


TOOLS = [count, erase, fail, stop, draw, work]
BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["run", "run_async"])


def run(*calls, is_async=False, tools=TOOLS, callback=None, **options):
    model = Scripted(list(calls))
    agent = Agent(
        chat_generator=model,
        tools=to_haystack(tools, **options),
        tool_streaming_callback_passthrough=True,
    )
    messages = [ChatMessage.from_user("go")]
    given = {"messages": messages, "streaming_callback": callback}
    made = asyncio.run(agent.run_async(**given)) if is_async else agent.run(**given)
    return made, [each for message in made["messages"] for each in message.tool_call_results], model


@BOTH
def test_the_model_sees_our_schema_and_a_call_is_validated_and_repaired_by_the_tool(is_async):
    made, (first, second), model = run(("count", {"items": "[1, 2]"}), ("count", {"items": ["x"]}), is_async=is_async)
    assert made["last_message"].text == "done"
    assert model.definitions[0]["parameters"] == count.input_schema
    assert (first.result, first.error) == ("2 of us", False)
    assert second.result.startswith("items")
    assert second.error


def test_a_failure_has_the_message_of_the_tool_alone():
    _, (answer,), _ = run(("fail", {}))
    assert (answer.result, answer.error) == ("no such place; try here", True)


@BOTH
@pytest.mark.parametrize("well", [True, False])
def test_a_halt_ends_the_run(well, is_async):
    made, (answer,), _ = run(("stop", {"well": well}), is_async=is_async)
    assert answer.result == ("the end" if well else "the bitter end")
    assert made["exit_reason"] == "halted by stop"
    assert made["last_message"].tool_call_results == [answer]


def test_pictures_go_to_the_model():
    _, (answer,), _ = run(("draw", {}))
    text, picture = answer.result
    assert text == TextContent("a dot")
    assert (picture.base64_image, picture.mime_type) == PICTURE


@BOTH
def test_progress_reaches_the_streaming_callback(is_async):
    seen = []

    async def areport(chunk):
        seen.append(chunk.meta.get("progress"))

    def report(chunk):
        seen.append(chunk.meta.get("progress"))

    run(("work", {}), is_async=is_async, callback=areport if is_async else report)
    assert {"done": 1, "total": 2, "message": "half"} in seen


def test_a_call_that_requires_approval_is_refused_and_the_reason_names_what_allows_it():
    _, (answer,), _ = run(("erase", {"path": "a.txt"}))
    assert answer.error
    assert 'approve="all"' in answer.result
    _, (answer,), _ = run(("erase", {"path": "a.txt"}), approve="all")
    assert answer.result == "erased a.txt"


@BOTH
@pytest.mark.parametrize(
    ("decision", "result"),
    [
        (ConfirmationUIResult("confirm"), "erased a.txt"),
        (ConfirmationUIResult("modify", new_tool_params={"path": "b.txt"}), "erased b.txt"),
        (ConfirmationUIResult("reject", feedback="never"), "rejected"),
    ],
)
def test_a_confirmation_strategy_of_haystack_decides_about_it(decision, result, is_async):
    class Ui:
        def get_user_confirmation(self, tool_name, tool_description, tool_params):
            assert (tool_name, tool_params) == ("erase", {"path": "a.txt"})
            return decision

    strategy = BlockingConfirmationStrategy(confirmation_policy=AlwaysAskPolicy(), confirmation_ui=Ui())
    _, answers, _ = run(("erase", {"path": "a.txt"}), ("count", {"items": []}), is_async=is_async, confirm=strategy)
    assert result in answers[0].result
    assert answers[0].error == (result == "rejected")
    assert answers[1].result == "0 of us"


def test_an_executor_makes_the_calls_under_its_policy():
    policy = Policy([{"decision": "deny", "tool": "erase"}], files=(), project=False, default="allow")
    with Executor(TOOLS, policy=policy) as executor:
        _, answers, _ = run(("erase", {"path": "a.txt"}), ("count", {"items": [1]}), executor=executor)
    assert [each.error for each in answers] == [True, False]


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
        agent = Agent(chat_generator=Scripted([("wait", {})]), tools=to_haystack(wait))
        task = asyncio.create_task(agent.run_async(messages=[ChatMessage.from_user("go")]))
        await started.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())
    assert cancelled.is_set()


def test_tools_of_haystack_run_here_with_their_errors_pictures_and_handlers():
    schema = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}

    async def half(number: int) -> float:
        return number / 2

    def shout(found):
        return f"<{found['word']}>"

    raw, parts = {"source": "parts", "raw_result": True}, [TextContent("here"), ImageContent(*PICTURE)]
    theirs = [
        HaystackTool("divide", "Divide 10.", schema, lambda number: 10 // number),
        HaystackTool("half", "Halve.", schema, async_function=half),
        HaystackTool("picture", "Draw.", {"type": "object"}, lambda: {"parts": parts}, outputs_to_string=raw),
        HaystackTool("say", "Say.", {"type": "object"}, lambda: {"word": "a"}, outputs_to_string={"handler": shout}),
    ]
    found = {each.name: each for each in from_haystack([theirs[0], Toolset(theirs[1:])])}
    assert found["divide"].call(number=5).output == 2
    assert "division" in (found["divide"].call(number=0).error or "")
    assert found["divide"].call(number="x").error_type == "validation_error"
    assert found["half"].call(number=5).output == 2.5
    assert found["picture"].call().content == ("here", Image(PNG))
    assert found["say"].call() == Result.ok({"word": "a"}, content="<a>")
