"""`to_openai_agents` and `from_openai_agents`, with a model that answers as told."""

from __future__ import annotations

import asyncio
import json

import agents
import pytest
from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from agents.items import ToolCallOutputItem
from agents.tool_context import ToolContext
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from samples import fail, is_cancelled, leave, picture, removal, weather

from tools_adapters import from_openai_agents, openai_agents_halt, to_openai_agents

agents.set_trace_processors([])  # do not send traces


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
    return Agent("tester", tools=tools, model=Fake(name, arguments), **options)


def answer_to(tools, name, arguments, **options):
    result = Runner.run_sync(agent(tools, name, arguments), "hi", **options)
    return next(item for item in result.new_items if isinstance(item, ToolCallOutputItem))


def test_a_schema_is_strict_if_it_can_be():
    strict, plain = to_openai_agents([weather, fail])
    assert (strict.strict_json_schema, strict.params_json_schema["required"][:2]) == (True, ["city", "days"])
    assert (plain.strict_json_schema, plain.params_json_schema["properties"].keys()) == (False, {"options"})


def test_nulls_for_absent_arguments_repairs_and_messages_are_ours():
    tools = to_openai_agents([weather, fail])
    item = answer_to(tools, "weather", {"city": "Oslo", "days": None})
    assert (item.custom_data["output"]["days"], item.custom_data["output"]["call"]) == (1, "call_1")
    repaired = answer_to(tools, "weather", {"city": "Oslo", "days": "3"})
    assert repaired.custom_data["metadata"] == {"repaired": ['days: "3" -> 3']}
    wrong = answer_to(tools, "weather", {"days": "x"})
    assert wrong.output == 'Error: city is required: a string; days must be an integer, got "x"'
    assert answer_to(tools, "weather", '{"city": ').output.startswith("Error: invalid JSON in arguments")
    assert answer_to(tools, "fail", {}).custom_data["error_type"] == "not_found"


def test_pictures_and_files_are_parts_of_the_output():
    parts = answer_to(to_openai_agents(picture), "picture", {}).raw_item["output"]
    assert [part["type"] for part in parts] == ["input_text", "input_image", "input_file", "input_text"]
    assert parts[1]["image_url"].startswith("data:image/png;base64,")
    assert (parts[2]["filename"], parts[3]["text"]) == ("a.pdf", "[file, text/plain]\nwords")


def test_the_run_is_the_trace_group_else_the_trace_else_the_conversion():
    def run_of(tools, config=None):
        return answer_to(tools, "weather", {"city": "Oslo"}, run_config=config).custom_data["output"]["run"]

    tools, off = to_openai_agents(weather), RunConfig(tracing_disabled=True)
    assert run_of(tools, RunConfig(group_id="talk")) == "talk"
    assert run_of(tools).startswith("trace_")
    assert run_of(tools, off) == run_of(tools, off) != run_of(to_openai_agents(weather), off)


def test_cancelling_a_run_cancels_its_tool():
    assert is_cancelled(lambda wait: Runner.run(agent(to_openai_agents(wait), "wait", {}), "hi"))


def test_a_halt_ends_the_run_with_its_behaviour():
    def output(name, behavior, **arguments):
        tester = agent(to_openai_agents([leave, weather]), name, arguments, tool_use_behavior=behavior)
        return Runner.run_sync(tester, "hi").final_output

    assert output("leave", openai_agents_halt()) == "bye"
    assert output("weather", openai_agents_halt(), city="Oslo") == output("leave", "run_llm_again") == "done"


@pytest.mark.parametrize(("is_approved", "done"), [(True, ["a"]), (False, [])])
def test_a_call_that_requires_approval_interrupts_the_run(is_approved, done):
    remove, removed = removal()
    tester = agent(to_openai_agents(remove), "remove", {"path": "a", "force": None})
    first = Runner.run_sync(tester, "hi")
    state, (request,) = first.to_state(), first.interruptions
    assert (request.name, removed) == ("remove", [])
    (state.approve if is_approved else state.reject)(request)
    assert Runner.run_sync(tester, state).final_output == "done"
    assert removed == done


def test_approval_is_asked_for_only_if_the_arguments_fit_and_never_skipped():
    remove, removed = removal()
    (tool,) = to_openai_agents(remove)
    assert "path is required" in answer_to([tool], "remove", {"force": True}).output
    unasked = ToolContext(context=None, tool_name="remove", tool_call_id="1", tool_arguments='{"path": "a"}')
    assert "requires approval" in asyncio.run(tool.on_invoke_tool(unasked, unasked.tool_arguments))
    assert removed == []
    assert answer_to(to_openai_agents(remove, approve="all"), "remove", {"path": "a"}).output == "removed a"


def test_their_tools_become_ours():
    @function_tool
    def divide(ctx: agents.RunContextWrapper[int], a: int, b: int) -> float:
        """Divide."""
        return ctx.context * a / b

    @function_tool(needs_approval=True)
    def show() -> list:
        """Show."""
        return ["see", agents.ToolOutputImage(image_url="data:image/png;base64,iVBORw0KGgo=")]

    ours = from_openai_agents([divide, show], context=10)
    assert [tool.requires_approval for tool in ours] == [False, True]
    assert ours[0].definition["input_schema"]["required"] == ["a", "b"]
    assert ours[0].call({"a": "8", "b": 2}).output == 40.0
    assert ours[0].call({"a": 1, "b": 0}).error == "ZeroDivisionError: division by zero"
    assert (ours[0].call({"a": 1}).error_type, ours[1].call({}).content[1].kind) == ("validation_error", "image")
    assert from_openai_agents(to_openai_agents([fail]))[0].call({}).output == "Error: no such city"


def test_time_limits_hold_and_hosted_tools_are_refused():
    @function_tool(timeout=0.01)
    async def wait() -> None:
        """Wait."""
        await asyncio.Event().wait()

    @agents.tool_input_guardrail
    def check(data: object) -> agents.ToolGuardrailFunctionOutput:
        return agents.ToolGuardrailFunctionOutput.reject_content("no")

    assert "timed out" in (from_openai_agents([wait])[0].call().error or "")
    wait.tool_input_guardrails = [check]
    for hosted in (wait, agents.WebSearchTool()):
        with pytest.raises(ValueError, match=f"{hosted.name} cannot run outside of an agent"):
            from_openai_agents([hosted])


def test_optional_parameters_of_strict_tools_stay_optional():
    @function_tool
    def greet(name: str, greeting: str = "Hello", suffix: str | None = None) -> str:
        """Greet."""
        return f"{greeting} {name}{suffix or ''}"

    [ours] = from_openai_agents([greet])
    assert ours.input_schema["required"] == ["name"]
    assert ours.call({"name": "Ada"}).output == "Hello Ada"
    assert ours.call({"name": "Ada", "suffix": "!"}).output == "Hello Ada!"
