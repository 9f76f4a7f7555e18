"""`to_pydantic_ai` and `from_pydantic_ai`, with pydantic-ai's own function model."""

from __future__ import annotations

import asyncio
import json

import pydantic_ai
import pytest
from pydantic_ai import Agent, BinaryContent, DeferredToolRequests, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from samples import PNG, fail, is_cancelled, leave, picture, removal, weather

from tools_adapters import from_pydantic_ai, pydantic_ai_halt, to_pydantic_ai


def agent(tools, name, arguments, **options):
    answers = iter([ToolCallPart(name, arguments, tool_call_id="call_1"), TextPart("done")])

    async def stream(messages, info):
        answer = next(answers)
        is_text = isinstance(answer, TextPart)
        yield answer.content if is_text else {0: DeltaToolCall(name, json.dumps(arguments), tool_call_id="call_1")}

    model = FunctionModel(lambda messages, info: ModelResponse([next(answers)]), stream_function=stream)
    toolset = to_pydantic_ai(tools) if isinstance(tools, list) else tools
    return Agent(model, toolsets=[toolset], **options)


def returned(result):
    return next(
        part
        for message in result.all_messages()
        for part in message.parts
        if isinstance(part, pydantic_ai.ToolReturnPart)
    )


def answer_to(tools, name, arguments, **options):
    return returned(agent(tools, name, arguments, **options).run_sync("hi"))


def test_the_schema_is_ours_and_so_are_repairs_and_messages():
    part = answer_to([weather], "weather", {"city": "Oslo", "days": "3", "ctx": "mine"})
    output = part.metadata["output"]
    assert (output["days"], output["names"], output["call"]) == (3, "mine", "call_1")
    assert part.metadata["metadata"] == {"repaired": ['days: "3" -> 3']}
    wrong = answer_to([weather], "weather", {"days": "x"})
    assert (wrong.outcome, wrong.content) == ("failed", 'city is required: a string; days must be an integer, got "x"')


def test_failures_and_wrong_json_use_no_retries():
    assert answer_to([fail], "fail", {}, retries=0).content == "no such city"
    assert answer_to([weather], "weather", "[1]").outcome == "retried"


def test_pictures_and_pdfs_are_binary_content_and_files_of_text_are_text():
    see, image, pdf, text = answer_to([picture], "picture", {}).content
    assert (see, image, text) == ("see", BinaryContent(PNG, media_type="image/png"), "[file, text/plain]\nwords")
    assert pdf.media_type == "application/pdf"


def test_the_run_is_the_conversation_and_progress_is_an_event():
    async def main():
        tester = agent([weather], "weather", {"city": "Oslo"})
        async with tester.run_stream_events("hi", conversation_id="talk") as events:
            return [event async for event in events]

    events = asyncio.run(main())
    (progress,) = [event for event in events if getattr(event, "name", "") == "tool_progress"]
    assert (progress.done, progress.total, progress.message, progress.tool_call_id) == (1, 2, "half", "call_1")
    assert returned(events[-1].result).metadata["output"]["run"] == "talk"


def test_cancelling_a_run_cancels_its_tool():
    assert is_cancelled(lambda wait: agent([wait], "wait", {}).run("hi"))


def test_a_halt_ends_the_run_with_the_capability():
    assert agent([leave], "leave", {}, capabilities=[pydantic_ai_halt()]).run_sync("hi").output == "bye"
    bitter = agent([leave], "leave", {"well": False}, capabilities=[pydantic_ai_halt()])
    assert bitter.run_sync("hi").output == "bitter end"
    assert agent([leave], "leave", {}).run_sync("hi").output == "done"


@pytest.mark.parametrize(
    ("approval", "content", "done"), [(True, "removed a", ["a"]), (pydantic_ai.ToolDenied("never"), "never", [])]
)
def test_a_call_that_requires_approval_is_deferred(approval, content, done):
    remove, removed = removal()
    tester = agent([remove], "remove", {"path": "a"}, output_type=[str, DeferredToolRequests])
    first = tester.run_sync("hi")
    assert first.output.approvals[0].args == {"path": "a"}
    assert first.output.metadata["call_1"]["arguments"] == {"path": "a"}
    assert removed == []
    results = pydantic_ai.DeferredToolResults(approvals={"call_1": approval})
    second = tester.run_sync(message_history=first.all_messages(), deferred_tool_results=results)
    assert (returned(second).content, removed) == (content, done)


def test_without_deferred_requests_a_call_that_requires_approval_does_not_run():
    remove, removed = removal()
    with pytest.raises(pydantic_ai.UserError, match="DeferredToolRequests"):
        agent([remove], "remove", {"path": "a"}).run_sync("hi")
    assert removed == []
    assert answer_to([remove], "remove", {}).content == "path is required: a string"
    allowed = to_pydantic_ai(remove, approve=lambda request: True, id="t")
    assert answer_to(allowed, "remove", {"path": "a"}).content == "removed a"


def test_their_tools_become_ours():
    def divide(ctx: pydantic_ai.RunContext[int], a: int, b: int) -> float:
        """Divide."""
        if b == 0:
            raise pydantic_ai.ModelRetry("b is 0")
        return ctx.deps * a / b

    def show() -> pydantic_ai.ToolReturn:
        """Show."""
        return pydantic_ai.ToolReturn(
            "a picture", content=["see", BinaryContent(PNG, media_type="image/png")], metadata={"n": 1}
        )

    ours = from_pydantic_ai([divide, show, pydantic_ai.Tool(show, name="ask", requires_approval=True)], deps=10)
    assert [tool.requires_approval for tool in ours] == [False, False, True]
    assert ours[0].definition["input_schema"]["required"] == ["a", "b"]
    assert ours[0].call({"a": "8", "b": 2}).output == 40.0
    assert (ours[0].call({"a": 1, "b": 0}).error, ours[0].call({"a": 1}).error_type) == ("b is 0", "validation_error")
    result = ours[1].call({})
    assert (result.output, result.metadata["n"], result.content[2].data) == ("a picture", 1, PNG)
    assert from_pydantic_ai(to_pydantic_ai([fail]))[0].call({}).error == "no such city"


def test_a_toolset_that_asks_for_approval_is_never_bypassed():
    def look() -> str:
        return "seen"

    asking = pydantic_ai.FunctionToolset([look]).approval_required()
    (outer,), (inner,) = from_pydantic_ai(asking), from_pydantic_ai(asking.prefixed("my"))
    assert (outer.requires_approval, outer.call().output) == (True, "seen")
    assert (inner.requires_approval, inner.call().error_type) == (False, "approval_required")
