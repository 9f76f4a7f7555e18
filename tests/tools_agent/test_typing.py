"""The public API under the strict modes of two type checkers."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = '''
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, assert_type

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


class User7(TypedDict):
    user: int


class Clerk(Agent[User7, Answer]):
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


@pytest.fixture(params=[["mypy", "--strict"], ["basedpyright", "--level", "error"]], ids=lambda words: words[0])
def check(request, tmp_path):
    """Return a function that checks a program, and returns the exit code and the output."""
    name, *options = request.param
    checker = Path(sys.executable).parent / name
    if not checker.exists():
        pytest.skip(f"{name} is not installed")
    python = ["--python-executable" if name == "mypy" else "--pythonpath", sys.executable]

    def run(program):
        (tmp_path / "program.py").write_text(program)
        command = [checker, *options, *python, "program.py"]
        checked = subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True)
        return checked.returncode, checked.stdout

    return run


@pytest.mark.slow
def test_a_typical_program_passes_strict_type_checkers(check):
    code, output = check(PROGRAM)
    assert code == 0, output


@pytest.mark.slow
def test_type_checkers_report_a_context_of_another_type(check):
    code, output = check(f'{PROGRAM}\n\nClerk(context={{"user": "Ann"}})\n')
    assert code == 1
    assert '"User7' in output or '"user"' in output
