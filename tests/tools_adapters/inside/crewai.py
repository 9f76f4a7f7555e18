"""Run in an environment with crewai, by test_frameworks.py."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any

import pytest
from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM
from crewai.tools import BaseTool, ToolFailure
from crewai.tools import tool as crewai_tool
from pydantic import BaseModel

from tools_adapters import from_crewai, to_crewai
from tools_core import Halt, Image, Registry, Result, ToolError, tool
from tools_runtime import Executor
from tools_runtime.hookspecs import hookimpl


class Scripted(BaseLLM):
    """Makes the given tool calls in its first answer, and says "done" in its second."""

    calls: list[Any] = []
    native: bool = True
    definitions: list[Any] = []
    seen: list[Any] = []

    def call(self, messages: Any, tools: Any = None, **keywords: Any) -> Any:
        self.seen = list(messages)
        self.definitions = tools or []
        said = [message for message in messages if message["role"] == ("tool" if self.native else "assistant")]
        if said:
            return "done" if self.native else "Thought: I know.\nFinal Answer: done"
        if not self.native:
            ((name, given),) = self.calls
            return f"Thought: I act.\nAction: {name}\nAction Input: {json.dumps(given)}"
        functions = [{"name": name, "arguments": json.dumps(given)} for name, given in self.calls]
        return [{"id": f"call_{at}", "type": "function", "function": each} for at, each in enumerate(functions)]

    async def acall(self, *args: Any, **keywords: Any) -> Any:
        return self.call(*args, **keywords)

    def supports_function_calling(self) -> bool:
        return self.native


registry = Registry()


@registry.register
@tool
def count(items: Annotated[list[int], "The numbers"], of: str = "us") -> str:
    """Count numbers."""
    return f"{len(items)} of {of}"


@registry.register
@tool(requires_approval=True)
async def erase(path: str) -> str:
    """Erase a file."""
    return f"erased {path}"


@registry.register
@tool
def fail() -> str:
    """Fail."""
    raise ToolError("no such place; try here", "not_found")


@registry.register
@tool
def stop(now: bool, well: bool = True) -> str:
    """End the run."""
    if not now:
        return "not yet"
    raise Halt("the end" if well else Result.error("the bitter end"))


@registry.register
@tool
def draw() -> list[Any]:
    """Draw."""
    return ["a dot", Image(b"\x89PNG\r\n\x1a\n")]


def run(*calls, native=True, given=None, **options):
    model = Scripted(model="scripted", calls=list(calls), native=native)
    tools = given or to_crewai(registry, **options)
    agent = Agent(role="Clerk", goal="Work", backstory="None", llm=model, tools=tools)
    task = Task(description="Work", expected_output="Words", agent=agent)
    output = Crew(agents=[agent], tasks=[task], tracing=False).kickoff()
    return output, [message["content"] for message in model.seen if message["role"] == "tool"], model


def test_the_model_sees_a_strict_schema_and_a_call_is_validated_and_repaired_by_the_tool():
    output, answers, model = run(("count", {"items": "[1, 2]", "of": None}), ("count", {"items": ["x"], "of": "me"}))
    assert output.raw == "done"
    parameters = model.definitions[0]["function"]["parameters"]
    assert parameters["required"] == ["items", "of"]
    assert parameters["properties"]["of"]["type"] == ["string", "null"]
    assert parameters["properties"]["items"]["description"] == "The numbers"
    assert answers[0] == "2 of us"
    assert answers[1].startswith("items")


def test_a_failure_is_a_tool_failure_with_the_type_of_the_error():
    output, answers, _ = run(("fail", {}))
    assert answers == ["no such place; try here (code: not_found)"]
    (failure,) = output.tasks_output[0].tool_failures
    assert (failure.tool_name, failure.failure.code) == ("fail", "not_found")


@pytest.mark.parametrize("native", [True, False], ids=["native tool calls", "calls in text"])
def test_the_result_of_a_halt_is_the_answer_and_that_of_a_later_call_is_not(native):
    tools = to_crewai(registry)
    assert run(("stop", {"now": True, "well": True}), native=native, given=tools)[0].raw == "the end"
    assert run(("stop", {"now": True, "well": False}), native=native, given=tools)[0].raw == "the bitter end"
    assert run(("stop", {"now": False, "well": True}), native=native, given=tools)[0].raw == "done"


def test_pictures_are_described():
    _, answers, _ = run(("draw", {}))
    assert answers == ["a dot\n[image image/png, 8 bytes]"]


def test_a_call_that_requires_approval_is_refused_and_the_reason_names_what_allows_it():
    _, (answer,), _ = run(("erase", {"path": "a.txt"}))
    assert 'approve="all"' in answer
    _, answers, _ = run(("erase", {"path": "a.txt"}), approve=lambda request: request.tool.name == "erase")
    assert answers == ["erased a.txt"]


def test_an_executor_makes_every_call_and_no_result_is_cached():
    class Counts:
        calls: list[Any] = []

        @hookimpl
        def before_tool_call(self, call):
            self.calls.append(call.arguments)

    with Executor(registry, hooks=[Counts()]) as executor:
        agent = Agent(role="Clerk", goal="Work", backstory="None", tools=to_crewai(registry, executor=executor))
        agent.llm = Scripted(model="scripted", calls=[("count", {"items": [1], "of": None})])
        tasks = [Task(description=f"Work {at}", expected_output="Words", agent=agent) for at in range(2)]
        Crew(agents=[agent], tasks=tasks, cache=True, tracing=False).kickoff()
    assert Counts.calls == [{"items": [1]}] * 2


def test_a_tool_runs_in_an_event_loop_as_well():
    made = {each.name: each for each in to_crewai(registry, approve="all")}
    assert asyncio.run(made["erase"].arun(path="a.txt")) == "erased a.txt"


def test_tools_of_crewai_run_here_with_their_failures_and_flags():
    class Number(BaseModel):
        number: int

    class Divide(BaseTool):
        name: str = "Divide Ten"
        description: str = "Divide 10."
        args_schema: type[BaseModel] = Number

        def _run(self, number: int) -> Any:
            return 10 // number if number else ToolFailure(message="not by zero", code="zero")

    class Point(BaseModel):
        x: int

    @crewai_tool("last")
    async def last(x: int) -> Point:
        """Say the last word."""
        return Point(x=x)

    last.result_as_answer = True
    divide, end = from_crewai([Divide(), last])
    assert divide.name == "Divide_Ten"
    assert divide.call(number=5).output == 2
    assert divide.call(number="x").error_type == "validation_error"
    assert (divide.call(number=0).error, divide.call(number=0).error_type) == ("not by zero", "zero")
    result = end.call(x=1)
    assert (result.halted, result.to_dict()["output"]) == (True, {"x": 1})
