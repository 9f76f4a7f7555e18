"""Code that resumes: after an approval, and after its process was killed."""

import importlib.util
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tools_agent import Agent, ScriptedProvider, Session, ToolResult, open_store
from tools_code import CodeMode
from tools_core import Context, ToolCall, tool
from tools_shell import Python

PROGRAM = Path(__file__).with_name("code_agent.py")
spec = importlib.util.spec_from_file_location("code_agent", PROGRAM)
program = importlib.util.module_from_spec(spec)
spec.loader.exec_module(program)

ALL = ["price apple", "price pear", "price fig", "order 12", "mail total 12"]
OUTPUT = "ordered {'id': 7}\nmailed sent"


def output_of(agent):
    return next(message for message in agent.session if isinstance(message, ToolResult)).content


def agent_with(code, mode):
    return Agent(model=ScriptedProvider(ToolCall(None, "run_code", {"code": code}), "Done."), tools=[mode])


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def place(request, tmp_path):
    if request.param == "sqlite":
        return str(tmp_path / "sessions")
    return request.getfixturevalue("postgresql").new_database()


def test_a_call_that_needs_approval_pauses_the_code(place, tmp_path):
    path = tmp_path / "runs"
    with open_store(place) as store, program.make_agent(store, path) as agent:
        response = program.resume(agent)
        (request,) = response.pending
        assert (request["tool"], request["arguments"]) == ("order", {"total": 12})
        assert path.read_text().splitlines() == ALL[:3]
    with open_store(place) as store, program.make_agent(store, path) as agent:  # as in another process
        agent.session.approve(request["call_id"], by="ada")
        assert program.resume(agent).content == "All done."
        assert output_of(agent) == OUTPUT
    assert path.read_text().splitlines() == ALL


@pytest.mark.slow
@pytest.mark.parametrize("kills_in", ["pear", "fig!", "order"])
def test_code_of_a_killed_process_resumes_without_repeating_completed_calls(place, tmp_path, kills_in):
    path = tmp_path / "runs"
    command = [sys.executable, PROGRAM, place, path, kills_in]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    before = path.read_text().splitlines()
    with open_store(place) as store, program.make_agent(store, path) as agent:
        response = program.resume(agent)
        for request in response.pending:
            agent.session.approve(request["call_id"])
        response = program.resume(agent)
        assert response.content == "All done."
        after = path.read_text().splitlines()
        if kills_in == "order":  # it may have had its effect, so it is not repeated
            assert after == before
            assert "outcome is unknown" in output_of(agent)
        else:
            assert output_of(agent) == OUTPUT
            started = {"pear": [], "fig!": ["price fig"]}[kills_in]  # repeated, since a price may be looked up twice
            assert after == [*before, *started, *ALL[len(before) :]]


def test_a_denied_call_is_an_exception_of_the_code():
    @tool(requires_approval=True)
    def order() -> str:
        """Order."""
        return "ordered"

    code = "try:\n    order()\nexcept ToolError as error:\n    print(error.error_type, error)"
    agent = agent_with(code, CodeMode([order]))
    (request,) = agent.generate("Order.").pending
    agent.session.deny(request["call_id"], "not today")
    agent.generate()
    assert output_of(agent).startswith("denied")
    assert "not today" in output_of(agent)


def test_code_that_takes_another_path_when_it_resumes_is_stopped():
    calls = []

    @tool
    def add(number: float) -> str:
        """Add."""
        calls.append(number)
        return "added"

    @tool(requires_approval=True)
    def finish() -> str:
        """Finish."""
        calls.append("finish")
        return "finished"

    agent = agent_with("import time\nadd(time.time())\nfinish()\nadd(1)", CodeMode([add, finish]))
    (request,) = agent.generate("Add.").pending
    agent.session.approve(request["call_id"])
    agent.generate()
    assert output_of(agent).startswith("the code took another path when it resumed: after 0 calls, add(")
    assert len(calls) == 2  # the approved call ran, and nothing ran twice


def test_sets_have_the_same_order_when_code_resumes():
    @tool
    def add(word: str) -> str:
        """Add a word."""
        return word

    @tool(requires_approval=True)
    def finish() -> str:
        """Finish."""
        return "finished"

    code = "for word in {'apple', 'pear', 'fig', 'plum', 'date', 'lime'}: add(word)\nprint(finish())"
    agent = agent_with(code, CodeMode([add, finish], python=Python(sandbox="contained")))
    agent.approve = lambda request: request.call.name == "run_code" or None
    response = agent.generate("Add.")
    agent.session.approve(response.pending[0]["call_id"])
    agent.generate()
    assert output_of(agent) == "finished"


@pytest.mark.slow
def test_concurrent_calls_resume_in_any_order():
    @tool
    def double(number: int) -> int:
        """Double a number."""
        return 2 * number

    @tool(requires_approval=True)
    def confirm(number: int) -> int:
        """Confirm a number."""
        return number

    code = """
from concurrent.futures import ThreadPoolExecutor
def work(number):
    return confirm(double(number)) if number == 3 else double(double(number))
with ThreadPoolExecutor(4) as pool:
    print(list(pool.map(work, range(5))))
"""
    agent = agent_with(code, CodeMode([double, confirm]))
    response = agent.generate("Compute.")
    agent.session.approve(response.pending[0]["call_id"])
    agent.generate()
    assert output_of(agent) == "[0, 4, 8, 6, 16]"


def test_an_answer_of_the_user_continues_the_code(place, tmp_path):
    @tool
    def book(context: Context) -> str:
        """Book a flight."""
        return context.ask("Which airport?")

    def make():
        model = ScriptedProvider(ToolCall("call_1", "run_code", {"code": "print(book())"}), "Done.")
        return Agent("s", store=store, model=model, tools=[CodeMode([book])])

    with open_store(place) as store:
        (question,) = make().generate("Book.").pending
        session = Session.open(store, "s")
        session.answer(question["call_id"], "LHR")
        agent = make()
        agent.model = ScriptedProvider("Done.")
        agent.generate()
        assert output_of(agent) == "LHR"
