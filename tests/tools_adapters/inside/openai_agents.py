"""`to_openai_agents` and `from_openai_agents`, with a model that answers as told."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest
from agents import (
    Agent,
    Model,
    ModelResponse,
    RunConfig,
    RunContextWrapper,
    Runner,
    ToolOutputImage,
    Usage,
    function_tool,
    set_trace_processors,
)
from agents.items import ToolCallOutputItem
from agents.tool_context import ToolContext
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from tools_adapters import from_openai_agents, openai_agents_halt, to_openai_agents
from tools_core import Context, File, Image, Result, ToolError, tool
from tools_runtime import Executor, Policy

PNG = b"\x89PNG\r\n\x1a\n...."
set_trace_processors([])  # traces are made, and sent nowhere


@tool
def weather(city: str, days: int = 1, *, context: Context) -> dict[str, object]:
    """Weather of a city."""
    return {"city": city, "days": days, "run": context.run_id, "call": context.call_id}


@tool
def picture() -> list[object]:
    """Show a picture."""
    return ["see", Image(PNG), File(b"%PDF-1.7", name="a.pdf"), File(b"words", "text/plain")]


@tool
def leave() -> str:
    """End."""
    return Result.halt("bye")


@tool
def fail(options: dict[str, int] | None = None) -> str:
    """Fail."""
    raise ToolError("no such city", "not_found")


def removal():
    removed = []

    @tool(requires_approval=True)
    def remove(path: str, force: bool | None = None) -> str:
        """Remove a file."""
        removed.append((path, force))
        return f"removed {path}"

    return remove, removed


class Fake(Model):
    def __init__(self, name, arguments):
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        done = ResponseOutputText(type="output_text", text="done", annotations=[])
        self.answers = iter(
            [
                ResponseFunctionToolCall(type="function_call", call_id="call_1", name=name, arguments=text),
                ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[done]),
            ]
        )

    async def get_response(self, *request, **options):
        return ModelResponse([next(self.answers)], Usage(), None)

    def stream_response(self, *request, **options):
        raise NotImplementedError


def agent(tools, name, arguments, **options):
    tools = tools if options.pop("ready", False) else to_openai_agents(tools)
    return Agent("tester", tools=tools, model=Fake(name, arguments), **options)


def item_of(result):
    return next(item for item in result.new_items if isinstance(item, ToolCallOutputItem))


def answer_to(tools, name, arguments, **options):
    return item_of(Runner.run_sync(agent(tools, name, arguments, **options), "hi"))


def test_a_schema_that_can_be_strict_is_and_another_is_sent_as_it_is():
    strict, plain = to_openai_agents([weather, fail])
    assert (strict.strict_json_schema, strict.params_json_schema["required"]) == (True, ["city", "days"])
    assert (plain.strict_json_schema, plain.params_json_schema["properties"].keys()) == (False, {"options"})


def test_nulls_for_absent_arguments_repairs_and_messages_are_ours():
    item = answer_to([weather], "weather", {"city": "Oslo", "days": None})
    assert (item.custom_data["output"]["days"], item.custom_data["output"]["call"]) == (1, "call_1")
    repaired = answer_to([weather], "weather", {"city": "Oslo", "days": "3"})
    assert repaired.custom_data["metadata"] == {"repaired": ['days: "3" -> 3']}
    wrong = answer_to([weather], "weather", {"days": "x"})
    assert wrong.output == 'Error: city is required: a string; days must be an integer, got "x"'
    assert answer_to([weather], "weather", '{"city": ').output.startswith("Error: invalid JSON in arguments")
    assert answer_to([fail], "fail", {}).custom_data["error_type"] == "not_found"


def test_pictures_and_files_are_parts_of_the_output():
    parts = answer_to([picture], "picture", {}).raw_item["output"]
    assert [part["type"] for part in parts] == ["input_text", "input_image", "input_file", "input_text"]
    assert parts[1]["image_url"].startswith("data:image/png;base64,")
    assert (parts[2]["filename"], parts[3]["text"]) == ("a.pdf", "[file, text/plain]\nwords")


def test_the_run_is_the_group_of_the_trace_or_the_trace_or_the_conversion():
    def run_of(config=None, *, made=None):
        asked = agent(made or to_openai_agents(weather), "weather", {"city": "Oslo", "days": 1}, ready=True)
        return item_of(Runner.run_sync(asked, "hi", run_config=config)).custom_data["output"]["run"]

    assert run_of(RunConfig(group_id="talk")) == "talk"
    assert run_of().startswith("trace_")
    made = to_openai_agents(weather)
    off = RunConfig(tracing_disabled=True)
    assert run_of(off, made=made) == run_of(off, made=made) != run_of(off)


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
        task = asyncio.create_task(Runner.run(agent([wait], "wait", {}), "hi"))
        await asyncio.to_thread(entered.wait, 30)  # the tool does not block the loop
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert cancelled.is_set()


def test_a_halt_ends_the_run_with_its_behaviour():
    ended = Runner.run_sync(agent([leave], "leave", {}, tool_use_behavior=openai_agents_halt()), "hi")
    assert ended.final_output == "bye"
    for name in ("leave", "weather"):
        behaviour = {"tool_use_behavior": openai_agents_halt()} if name == "weather" else {}
        asked = agent([leave, weather], name, {"city": "Oslo"} if name == "weather" else {}, **behaviour)
        assert Runner.run_sync(asked, "hi").final_output == "done"


@pytest.mark.parametrize(("is_approved", "done"), [(True, [("a", None)]), (False, [])])
def test_a_call_that_requires_approval_interrupts_the_run(is_approved, done):
    remove, removed = removal()
    made = agent([remove], "remove", {"path": "a", "force": None})
    first = Runner.run_sync(made, "hi")
    state, (request,) = first.to_state(), first.interruptions
    assert (request.name, removed) == ("remove", [])
    (state.approve if is_approved else state.reject)(request)
    assert Runner.run_sync(made, state).final_output == "done"
    assert removed == done


def test_approval_is_asked_for_only_if_the_arguments_fit_and_never_skipped():
    remove, removed = removal()
    assert "path is required" in answer_to([remove], "remove", {"force": True}).output
    (made,) = to_openai_agents(remove)
    unasked = ToolContext(context=None, tool_name="remove", tool_call_id="1", tool_arguments='{"path": "a"}')
    assert "requires approval" in asyncio.run(made.on_invoke_tool(unasked, unasked.tool_arguments))
    assert removed == []
    allowed = to_openai_agents(remove, approve="all")
    assert answer_to(allowed, "remove", {"path": "a"}, ready=True).output == "removed a"


def test_an_executor_makes_the_calls_under_its_policy():
    policy = Policy([{"decision": "deny", "tool": "fail"}], files=(), project=False, default="allow")
    with Executor([weather, fail], policy=policy) as executor:
        made = to_openai_agents([weather, fail], executor=executor)
        assert answer_to(made, "weather", {"city": "Oslo"}, ready=True).custom_data["ok"]
        assert answer_to(made, "fail", {}, ready=True).custom_data["error_type"] == "denied"


def test_their_tools_become_ours():
    @function_tool
    def divide(ctx: RunContextWrapper[int], a: int, b: int) -> float:
        """Divide."""
        return ctx.context * a / b

    @function_tool(needs_approval=True)
    def show() -> list:
        """Show."""
        return ["see", ToolOutputImage(image_url="data:image/png;base64,iVBORw0KGgo=")]

    ours = from_openai_agents([divide, show], context=10)
    assert [each.requires_approval for each in ours] == [False, True]
    assert ours[0].definition["input_schema"]["required"] == ["a", "b"]
    assert ours[0].call({"a": "8", "b": 2}).output == 40.0
    assert ours[0].call({"a": 1, "b": 0}).error == "ZeroDivisionError: division by zero"
    assert (ours[0].call({"a": 1}).error_type, ours[1].call({}).content[1].kind) == ("validation_error", "image")
    assert from_openai_agents(to_openai_agents([fail]))[0].call({}).output == "Error: no such city"
