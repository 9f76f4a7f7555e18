"""Compare the time of one step of an agent with that of other frameworks: `python tests/benchmarks/agent_steps.py`.

A step is a reply of a model in this process, with one call, and the call of a synchronous tool with two validated
integers. Each framework runs 50 of them in turns with the others and keeps the conversation, by its usual entry point:
smolagents runs a tool in the thread of the caller and without a limit, the others in a thread. Frameworks that are not
installed are left out. With a store, each step is in a file before the next one: by a session of openai-agents, and by
a checkpointer of LangChain.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

STEPS, ROUNDS = 50, 7
FOLDER = Path(tempfile.mkdtemp())
NAMES = count()


def plus(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: The first number.
        b: The second number.
    """
    return a + b


def ours(*, store: bool = False, inline: bool = False) -> None:
    """Run tools_agent; by default a tool runs in a thread and has a limit of 10 seconds."""
    from tools_agent import Agent, Assistant, Request, SQLiteStore
    from tools_core import ToolCall, tool

    numbers = count(1)

    class Counting:
        model = "counting"

        async def astream(self, request: Request) -> AsyncIterator[Assistant]:
            number = next(numbers)
            call = ToolCall(f"call_{number}", "plus", {"a": 2, "b": 3})
            yield Assistant(tool_calls=(call,)) if number <= STEPS else Assistant(content="Done")

    options: Any = {"store": SQLiteStore(FOLDER / f"{next(NAMES)}.db")} if store else {}
    if inline:
        options |= {"runtime": "inline", "tool_timeout": None}
    agent = Agent("s" if store else None, model=Counting(), tools=[tool(plus)], max_steps=None, **options)
    assert agent.generate("Go").content == "Done"


def pydantic_ai() -> None:
    """Run pydantic-ai."""
    from pydantic_ai import Agent, UsageLimits
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    numbers = count(1)

    def reply(_messages: Any, _info: Any) -> ModelResponse:
        number = next(numbers)
        call = ToolCallPart("plus", {"a": 2, "b": 3}, f"call_{number}")
        return ModelResponse(parts=[call if number <= STEPS else TextPart("Done")])

    agent = Agent(FunctionModel(reply), tools=[plus])
    assert agent.run_sync("Go", usage_limits=UsageLimits(request_limit=None)).output == "Done"


def openai_agents(*, store: bool = False) -> None:
    """Run openai-agents."""
    from agents import Agent, ModelResponse, RunConfig, Runner, SQLiteSession, Usage, function_tool
    from agents.models.interface import Model
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    numbers = count(1)

    class Counting(Model):
        async def get_response(self, *_: Any, **__: Any) -> ModelResponse:
            number = next(numbers)
            text = ResponseOutputText(text="Done", type="output_text", annotations=[])
            item: Any = ResponseFunctionToolCall(
                name="plus", arguments='{"a": 2, "b": 3}', call_id=f"call_{number}", type="function_call"
            )
            if number > STEPS:
                item = ResponseOutputMessage(
                    id="m", content=[text], role="assistant", status="completed", type="message"
                )
            return ModelResponse(output=[item], usage=Usage(), response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    session = SQLiteSession("s", FOLDER / f"{next(NAMES)}.db") if store else None
    agent = Agent(name="a", model=Counting(), tools=[function_tool(plus)])
    config = RunConfig(tracing_disabled=True)
    result = Runner.run_sync(agent, "Go", max_turns=STEPS + 2, run_config=config, session=session)
    assert result.final_output == "Done"


def langchain(*, store: bool = False) -> None:
    """Run LangChain's create_agent."""
    from langchain.agents import create_agent
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, ToolCall
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_core.tools import tool

    numbers = count(1)

    class Counting(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "counting"

        def bind_tools(self, *_: Any, **__: Any) -> Any:
            return self

        def _generate(self, *_: Any, **__: Any) -> ChatResult:
            number = next(numbers)
            call = ToolCall(name="plus", args={"a": 2, "b": 3}, id=f"call_{number}")
            message = AIMessage("", tool_calls=[call]) if number <= STEPS else AIMessage("Done")
            return ChatResult(generations=[ChatGeneration(message=message)])

    config: Any = {"recursion_limit": 10 * STEPS, "configurable": {"thread_id": "s"}}
    prompt: Any = {"messages": [("user", "Go")]}
    if not store:
        result = create_agent(Counting(), [tool(plus)]).invoke(prompt, config)
    else:
        from langgraph.checkpoint.sqlite import SqliteSaver

        with SqliteSaver.from_conn_string(str(FOLDER / f"{next(NAMES)}.db")) as saver:
            agent = create_agent(Counting(), [tool(plus)], checkpointer=saver)
            result = agent.invoke(prompt, config, durability="sync")
    assert result["messages"][-1].content == "Done"


def smolagents() -> None:
    """Run smolagents' ToolCallingAgent."""
    from smolagents import ToolCallingAgent, tool
    from smolagents.models import (
        ChatMessage,
        ChatMessageToolCall,
        ChatMessageToolCallFunction,
        MessageRole,
        Model,
    )

    numbers = count(1)

    class Counting(Model):
        def generate(self, *_: Any, **__: Any) -> ChatMessage:
            number = next(numbers)
            name, arguments = ("plus", {"a": 2, "b": 3}) if number <= STEPS else ("final_answer", {"answer": "Done"})
            function = ChatMessageToolCallFunction(name=name, arguments=arguments)
            call = ChatMessageToolCall(id=f"call_{number}", type="function", function=function)
            return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])

    agent = ToolCallingAgent([tool(plus)], Counting(), verbosity_level=0, max_steps=STEPS + 2)
    assert agent.run("Go") == "Done"


ROWS: list[tuple[str, str, Callable[[], None]]] = [
    ("tool in a thread", "tools_agent", ours),
    ("tool in a thread", "pydantic_ai", pydantic_ai),
    ("tool in a thread", "agents", openai_agents),
    ("tool in a thread", "langchain", langchain),
    ("in this thread", "tools_agent", lambda: ours(inline=True)),
    ("in this thread", "smolagents", smolagents),
    ("with SQLite", "tools_agent", lambda: ours(store=True)),
    ("with SQLite", "agents", lambda: openai_agents(store=True)),
    ("with SQLite", "langchain", lambda: langchain(store=True)),
]


def main() -> None:
    """Print the medians, in turns."""
    os.environ.setdefault("OPENAI_API_KEY", "none")
    rows = [row for row in ROWS if find_spec(row[1]) is not None]
    times: dict[tuple[str, str], list[float]] = {row[:2]: [] for row in rows}
    for turn in range(ROUNDS + 1):
        for feature, name, run in rows:
            start = time.perf_counter()
            run()
            if turn:  # the first one imports
                times[feature, name].append((time.perf_counter() - start) / STEPS)
    for (feature, name), values in times.items():
        baseline = statistics.median(times[feature, "tools_agent"])
        median = statistics.median(values)
        sys.stdout.write(f"{feature:16} {name:12} {median * 1_000:7.2f} ms per step {median / baseline:6.1f}x\n")


if __name__ == "__main__":
    asyncio.set_event_loop(asyncio.new_event_loop())  # openai-agents wants one
    main()
