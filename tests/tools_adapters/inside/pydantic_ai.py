"""`to_pydantic_ai` and `from_pydantic_ai`, with pydantic-ai's own function model."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest
from pydantic_ai import (
    Agent,
    BinaryContent,
    DeferredToolRequests,
    DeferredToolResults,
    ModelResponse,
    ModelRetry,
    RunContext,
    TextPart,
    ToolCallPart,
    ToolDenied,
    ToolReturn,
    ToolReturnPart,
    UserError,
)
from pydantic_ai import Tool as TheirTool
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

from tools_adapters import from_pydantic_ai, pydantic_ai_halt, to_pydantic_ai
from tools_core import Context, File, Image, Result, ToolError, tool
from tools_runtime import Executor, Policy

PNG = b"\x89PNG\r\n\x1a\n...."


@tool
def weather(city: str, days: int = 1, ctx: str = "", *, context: Context) -> dict[str, object]:
    """Weather of a city."""
    context.progress(1, 2, "half")
    return {"city": city, "days": days, "ctx": ctx, "run": context.run_id, "call": context.call_id}


@tool
def picture() -> list[object]:
    """Show a picture."""
    return ["see", Image(PNG), File(b"words", "text/plain")]


@tool
def leave() -> str:
    """End."""
    return Result.halt("bye")


@tool
def fail() -> str:
    """Fail."""
    raise ToolError("no such city", "not_found")


def removal():
    removed = []

    @tool(requires_approval=True)
    def remove(path: str) -> str:
        """Remove a file."""
        removed.append(path)
        return f"removed {path}"

    return remove, removed


def model(name, arguments):
    answers = iter([ToolCallPart(name, arguments, tool_call_id="call_1"), TextPart("done")])

    async def stream(messages, info):
        answer = next(answers)
        is_text = isinstance(answer, TextPart)
        yield answer.content if is_text else {0: DeltaToolCall(name, json.dumps(arguments), tool_call_id="call_1")}

    return FunctionModel(lambda messages, info: ModelResponse([next(answers)]), stream_function=stream)


def agent(tools, name, arguments, **options):
    return Agent(model(name, arguments), toolsets=[to_pydantic_ai(tools)], **options)


def returned(messages):
    return next(part for message in messages for part in message.parts if isinstance(part, ToolReturnPart))


def answer_to(tools, name, arguments, **options):
    return returned(agent(tools, name, arguments, **options).run_sync("hi").all_messages())


def test_the_schema_is_ours_and_so_are_repairs_and_messages():
    part = answer_to([weather], "weather", {"city": "Oslo", "days": "3", "ctx": "mine"})
    output = part.metadata["output"]
    assert (output["days"], output["ctx"], output["call"]) == (3, "mine", "call_1")
    assert part.metadata["metadata"] == {"repaired": ['days: "3" -> 3']}
    wrong = answer_to([weather], "weather", {"days": "x"})
    assert (wrong.outcome, wrong.content) == ("failed", 'city is required: a string; days must be an integer, got "x"')


def test_failures_use_up_no_retries_and_json_that_is_no_object_ends_no_run():
    assert answer_to([fail], "fail", {}, retries=0).content == "no such city"
    assert answer_to([weather], "weather", "[1]").outcome == "retried"


def test_pictures_are_binary_content_and_files_of_text_are_text():
    content = answer_to([picture], "picture", {}).content
    assert content == ["see", BinaryContent(PNG, media_type="image/png"), "[file, text/plain]\nwords"]


def test_the_run_is_the_conversation_and_progress_is_an_event():
    async def main():
        made = agent([weather], "weather", {"city": "Oslo"})
        async with made.run_stream_events("hi", conversation_id="talk") as events:
            return [event async for event in events]

    events = asyncio.run(main())
    (progress,) = [event for event in events if getattr(event, "name", "") == "tool_progress"]
    assert (progress.done, progress.total, progress.message, progress.tool_call_id) == (1, 2, "half", "call_1")
    assert returned(events[-1].result.all_messages()).metadata["output"]["run"] == "talk"


def test_cancelling_a_run_cancels_its_tool():
    entered, cancelled = threading.Event(), threading.Event()

    @tool
    def wait(context: Context) -> str:
        """Wait."""
        context.on_cancel(cancelled.set)
        entered.set()
        cancelled.wait(30)
        return "late"

    async def main():
        task = asyncio.create_task(agent([wait], "wait", {}).run("hi"))
        await asyncio.to_thread(entered.wait, 30)  # the tool does not block the loop
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert cancelled.is_set()


def test_a_halt_ends_the_run_with_the_capability():
    assert agent([leave], "leave", {}, capabilities=[pydantic_ai_halt()]).run_sync("hi").output == "bye"
    assert agent([leave], "leave", {}).run_sync("hi").output == "done"


@pytest.mark.parametrize(
    ("approval", "content", "done"), [(True, "removed a", ["a"]), (ToolDenied("never"), "never", [])]
)
def test_a_call_that_requires_approval_is_deferred(approval, content, done):
    remove, removed = removal()
    made = agent([remove], "remove", {"path": "a"}, output_type=[str, DeferredToolRequests])
    first = made.run_sync("hi")
    assert first.output.approvals[0].args == {"path": "a"}
    assert first.output.metadata["call_1"]["arguments"] == {"path": "a"}
    assert removed == []
    results = DeferredToolResults(approvals={"call_1": approval})
    second = made.run_sync(message_history=first.all_messages(), deferred_tool_results=results)
    assert (returned(second.all_messages()).content, removed) == (content, done)


def test_without_deferred_requests_a_call_that_requires_approval_does_not_run():
    remove, removed = removal()
    with pytest.raises(UserError, match="DeferredToolRequests"):
        agent([remove], "remove", {"path": "a"}).run_sync("hi")
    assert removed == []
    wrong = answer_to([remove], "remove", {})
    assert wrong.content == "path is required: a string"
    made = Agent(
        model("remove", {"path": "a"}), toolsets=[to_pydantic_ai(remove, approve=lambda request: True, id="t")]
    )
    assert returned(made.run_sync("hi").all_messages()).content == "removed a"


def test_an_executor_makes_the_calls_under_its_policy():
    policy = Policy([{"decision": "deny", "tool": "fail"}], files=(), project=False, default="allow")
    with Executor([weather, fail], policy=policy) as executor:
        made = to_pydantic_ai([weather, fail], executor=executor)
        for name, outcome in (("weather", "success"), ("fail", "failed")):
            result = Agent(model(name, {"city": "Oslo"} if name == "weather" else {}), toolsets=[made]).run_sync("hi")
            assert returned(result.all_messages()).outcome == outcome


def test_their_tools_become_ours():
    def divide(ctx: RunContext[int], a: int, b: int) -> float:
        """Divide."""
        if b == 0:
            raise ModelRetry("b is 0")
        return ctx.deps * a / b

    def show() -> ToolReturn:
        """Show."""
        return ToolReturn("a picture", content=["see", BinaryContent(PNG, media_type="image/png")], metadata={"n": 1})

    ours = from_pydantic_ai([divide, show, TheirTool(show, name="ask", requires_approval=True)], deps=10)
    assert [each.requires_approval for each in ours] == [False, False, True]
    assert ours[0].definition["input_schema"]["required"] == ["a", "b"]
    assert ours[0].call({"a": "8", "b": 2}).output == 40.0
    assert (ours[0].call({"a": 1, "b": 0}).error, ours[0].call({"a": 1}).error_type) == ("b is 0", "validation_error")
    shown = ours[1].call({})
    assert (shown.output, shown.metadata["n"], shown.content[2].data) == ("a picture", 1, PNG)
    assert from_pydantic_ai(to_pydantic_ai([fail]))[0].call({}).error == "no such city"
