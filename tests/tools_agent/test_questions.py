"""Tools that ask the user: the agent's `on_ask` answers, or the run pauses until another process has the answer."""

import asyncio
import subprocess
import sys

import pytest

from tools_agent import Agent, ScriptedProvider, Session, SQLiteStore
from tools_core import Context, ToolCall, tool


@pytest.fixture(params=["sync", "async"])
def generate(request, arun):
    """Run an agent, synchronously or in an event loop."""
    return lambda agent, prompt=None: (
        arun(agent.agenerate(prompt)) if request.param == "async" else agent.generate(prompt)
    )


@pytest.fixture
def deployed():
    return []


@pytest.fixture
def deploy(deployed):
    @tool(requires_approval=True)
    async def deploy(context: Context) -> str:
        """Deploy the site."""
        region = await context.aask("Which region?", ["eu", "us"])
        name = await context.aask("Which name?")
        deployed.append(f"{name} in {region}")
        return deployed[-1]

    return deploy


def scripted(name="deploy"):
    return ScriptedProvider(ToolCall("1", name, {}), "Done")


def test_on_ask_answers_the_questions_of_tools(generate, deploy, deployed):
    answers = {"Which region?": "eu", "Which name?": "a.org"}

    async def answer_later(question):
        await asyncio.sleep(0)
        return answers[question.text]

    for on_ask in (lambda question: answers[question.text], answer_later):
        agent = Agent(model=scripted(), tools=[deploy], approve="all", on_ask=on_ask)
        assert generate(agent, "Go").content == "Done"
    assert deployed == ["a.org in eu"] * 2


def test_a_question_pauses_the_run_until_it_is_answered(generate, deploy, deployed):
    agent = Agent(model=scripted(), tools=[deploy])
    generate(agent, "Go")
    agent.session.approve("1")
    response = generate(agent)
    assert (response.outcome, response.interrupt_reason) == ("interrupted", "answer_required")
    pending = response.pending[0]
    assert (pending["tool"], pending["question"], pending["choices"]) == ("deploy", "Which region?", ["eu", "us"])
    assert generate(agent).pending == response.pending
    with pytest.raises(ValueError, match="'mars' is not one of eu, us"):
        agent.session.answer("1", "mars")
    agent.session.answer("1", "us")
    assert [question["question"] for question in generate(agent).pending] == ["Which name?"]
    agent.session.answer("1", "b.org")
    assert generate(agent).content == "Done"
    assert deployed == ["b.org in us"]
    with pytest.raises(KeyError, match="waiting: none"):
        agent.session.answer("1", "us")


def test_an_answer_from_another_process_continues_the_call(tmp_path, deploy, deployed):
    with SQLiteStore(tmp_path / "a.db") as store:
        agent = Agent("chat", store=store, model=scripted(), tools=[deploy], approve="all")
        agent.generate("Go")
        for answer in ("eu", "c.org"):
            program = (
                "import sys; from tools_agent import Session, SQLiteStore\n"
                "session = Session.open(SQLiteStore(sys.argv[1]), 'chat')\n"
                "session.answer(session.pending_questions[0]['call_id'], sys.argv[2])"
            )
            subprocess.run([sys.executable, "-c", program, tmp_path / "a.db", answer], check=True)
            agent.generate()
        assert deployed == ["c.org in eu"]
        assert [message.content for message in Session.open(store, "chat")][-2:] == ["c.org in eu", "Done"]


def test_an_equal_question_can_have_another_answer(deployed):
    @tool
    def register(context: Context) -> str:
        """Register an address."""
        while "@" not in (address := context.ask("Which address?")):
            pass
        return address

    agent = Agent(model=scripted("register"), tools=[register])
    agent.generate("Go")
    for answer in ("ann", "ann@a.org"):
        agent.session.answer("1", answer)
        response = agent.generate()
    assert response.messages[-2].content == "ann@a.org"


def test_a_sub_agent_passes_its_question_to_the_caller(deploy, deployed):
    worker = Agent(model=scripted(), tools=[deploy], name="worker", approve="all")
    caller = ScriptedProvider(ToolCall("7", "worker", {"prompt": "Deploy"}), "Done")
    agent = Agent(model=caller, tools=[worker.as_tool()])
    response = agent.generate("Go")
    for answer in ("eu", "d.org"):
        assert response.pending[0]["agent"] == "worker"
        agent.session.answer(response.pending[0]["call_id"], answer)
        response = agent.generate()
    assert response.content == "Done"
    assert deployed == ["d.org in eu"]
