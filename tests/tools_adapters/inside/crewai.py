"""`to_crewai`, with a model that answers as told."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM
from samples import fail, leave, picture, removal, weather

from tools_adapters import to_crewai
from tools_core import Context, Result, tool


class Scripted(BaseLLM):
    """Call the tools of `calls` first, then answer "done"."""

    calls: list[Any] = []
    native: bool = True
    definitions: list[Any] = []
    requests: list[Any] = []

    def call(self, messages, tools=None, **keywords):
        self.requests = list(messages)
        self.definitions = tools or []
        if any(message["role"] == ("tool" if self.native else "assistant") for message in messages):
            return "done" if self.native else "Thought: I know.\nFinal Answer: done"
        if not self.native:
            ((name, arguments),) = self.calls
            return f"Thought: I act.\nAction: {name}\nAction Input: {json.dumps(arguments)}"
        functions = [{"name": name, "arguments": json.dumps(arguments)} for name, arguments in self.calls]
        return [{"id": f"call_{at}", "type": "function", "function": function} for at, function in enumerate(functions)]

    async def acall(self, *args, **keywords):
        return self.call(*args, **keywords)

    def supports_function_calling(self):
        return self.native


def run(tools, *calls, native=True, tasks=1):
    model = Scripted(model="scripted", calls=list(calls), native=native)
    agent = Agent(role="Clerk", goal="Work", backstory="None", llm=model, tools=tools)
    work = [Task(description=f"Work {at}", expected_output="Words", agent=agent) for at in range(tasks)]
    output = Crew(agents=[agent], tasks=work, cache=True, tracing=False).kickoff()
    return output, [message["content"] for message in model.requests if message["role"] == "tool"], model


@pytest.mark.filterwarnings("error:function callbacks")
def test_the_model_sees_a_strict_schema_and_repairs_and_messages_are_ours():
    tools = to_crewai([weather], context=Context(run_id="talk"))
    calls = [("weather", {"city": "Oslo", "days": "3", "config": None}), ("weather", {"city": None, "days": "x"})]
    output, answers, model = run(tools, *calls)
    assert output.raw == "done"
    parameters = model.definitions[0]["function"]["parameters"]
    assert parameters["required"] == ["city", "days", "config", "ctx", "agent"]
    assert parameters["properties"]["days"]["type"] == ["integer", "null"]
    first = json.loads(answers[0])
    assert (first["days"], first["names"], first["run"]) == (3, "", "talk")
    assert answers[1].startswith("city must be a string, got null; days must be an integer")


def test_a_failure_is_a_tool_failure_with_the_type_of_the_error():
    output, answers, _ = run(to_crewai(fail), ("fail", {}))
    assert answers == ["no such city (code: not_found)"]
    (failure,) = output.tasks_output[0].tool_failures
    assert (failure.tool_name, failure.failure.code) == ("fail", "not_found")


@pytest.mark.parametrize("native", [True, False], ids=["native tool calls", "calls in text"])
def test_a_halt_is_the_answer_of_its_run_alone(native):
    @tool
    def leave_if(now: bool, well: bool) -> object:
        """End the run."""
        return leave.execute(well) if now else "not yet"

    tools = to_crewai(leave_if)
    assert run(tools, ("leave_if", {"now": True, "well": True}), native=native)[0].raw == "bye"
    assert run(tools, ("leave_if", {"now": True, "well": False}), native=native)[0].raw == "bitter end"
    assert run(tools, ("leave_if", {"now": False, "well": True}), native=native)[0].raw == "done"


def test_pictures_are_described_and_no_result_is_cached():
    calls = []

    @tool
    def show() -> Result:
        """Show."""
        calls.append(1)
        return picture.call()

    _, answers, _ = run(to_crewai(show), ("show", {}), tasks=2)
    assert answers[0].startswith("see\n[image image/png, 12 bytes]\n[file application/pdf")
    assert len(calls) == 2


def test_a_call_that_requires_approval_is_refused_without_it():
    remove, removed = removal()
    _, (answer,), _ = run(to_crewai(remove), ("remove", {"path": "a"}))
    assert answer.startswith("remove needs approval by the user and was not run")
    assert ("(code: approval_required)" in answer, removed) == (True, [])
    (converted,) = to_crewai(remove, approve=lambda request: request.tool.name == "remove")
    assert asyncio.run(converted.arun(path="a")) == "removed a"
