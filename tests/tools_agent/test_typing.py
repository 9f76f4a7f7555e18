"""The public API under the strict modes of two type checkers."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = '''
from collections.abc import Mapping, Sequence
from typing import Any, assert_type

from pydantic import BaseModel
from tools_agent import Agent, Assistant, AsyncStream, Block, Guardrail, Message, Provider, Response, ScriptedProvider
from tools_agent import Session, SQLiteStore, Stream, TextDelta, ToolCallMessage, ToolMessage, User, Window
from tools_core import Image, ToolCall, tool


class Answer(BaseModel):
    text: str


@tool
def weather(city: str) -> str:
    """Forecast for a city."""
    return city


class Polite(Guardrail):
    async def process_output(self, reply: Assistant, messages: Sequence[Message], context: Mapping[str, Any]) -> Any:
        return Block("rude")


class Clerk(Agent[Answer]):
    model = "openai:gpt-5"
    tools = [weather]
    guardrails = [Polite]
    output = Answer
    settings = {"temperature": 0}

    def instructions(self, context: Any) -> str:
        return "Keep the office tidy."


async def main() -> None:
    assert_type(Clerk().generate("Hi", context={"user": 1}).output, Answer)
    assert_type(Agent(output=Answer, model="openai:gpt-5").generate("Hi").output, Answer)
    assert_type(Agent(model="openai:gpt-5").generate("Hi").output, str)
    assert_type(await Clerk().agenerate(files=[]), Response[Answer])
    assert_type(Clerk.stream(User(content="Hi", files=[Image(b"")])), Stream[Answer])
    assert_type(Clerk().astream("Hi"), AsyncStream[Answer])
    provider: Provider = ScriptedProvider([ToolCall("1", "weather", {"city": "Oslo"})], "Sunny.")
    with Agent("office", store=SQLiteStore("a"), model=provider, tools=lambda _: [weather], window=Window(9)) as agent:
        assert_type(agent.session.on_message(print).on_message(lambda message: agent.interrupt(message)), Session)
        print([event.content for event in agent.stream("Hi") if isinstance(event, TextDelta)])
    Session([Assistant(tool_calls=[ToolCall("1", "weather")])])
    ToolCallMessage(role="assistant", tools=[ToolMessage(id="1", name="weather", input={"city": "Oslo"})])
'''


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [["mypy", "--strict"], ["basedpyright", "--level", "error"]], ids=lambda words: words[0]
)
def test_a_typical_program_passes_strict_type_checkers(tmp_path, words):
    checker = Path(sys.executable).parent / words[0]
    if not checker.exists():
        pytest.skip(f"{words[0]} is not installed")
    (tmp_path / "program.py").write_text(PROGRAM)
    python = ["--python-executable" if words[0] == "mypy" else "--pythonpath", sys.executable]
    checked = subprocess.run(
        [checker, *words[1:], *python, "program.py"], check=False, cwd=tmp_path, capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stdout
