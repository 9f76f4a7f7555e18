"""Agents and executors with a real shell: cancelled commands keep their output, and other processes approve them."""

import asyncio
import signal
import subprocess
import sys
import threading

import pytest

from tools_agent import Agent, ScriptedProvider, SQLiteStore
from tools_core import Context, ToolCall
from tools_runtime import Executor

tools_shell = pytest.importorskip("tools_shell")
CALL = ToolCall("1", "bash", {"command": "echo partial; touch started; exec sleep 60"})


@pytest.fixture
def when_started(tmp_path):
    """Return a function that calls another one when the command of CALL has started."""
    threads, over = [], threading.Event()

    def start(function):
        def wait():
            while not over.wait(0.02) and not (tmp_path / "started").exists():
                pass
            function()

        threads.append(threading.Thread(target=wait))
        threads[-1].start()

    yield start
    over.set()
    for thread in threads:
        thread.join()


def agent_with(folder):
    return Agent(
        model=ScriptedProvider(CALL, "Done"), tools=[tools_shell.Bash()], workspace=folder, approve="all"
    )  # fmt: skip


def test_a_cancelled_context_keeps_the_output_of_a_command(tmp_path, when_started):
    context = Context(workspace=tmp_path)
    when_started(context.cancel)
    result = Executor([tools_shell.Bash()], approve="all").call(CALL, context)
    assert result.error_type == "cancelled"
    assert result.error.startswith("partial\n")


def test_ctrl_c_keeps_the_output_of_a_command(tmp_path, when_started):
    agent = agent_with(tmp_path)
    when_started(lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        agent.generate("Go")
    assert agent.session[-1].content.startswith("partial\n")
    assert agent.generate().content == "Done"


def test_a_cancelled_task_keeps_the_output_of_a_command(tmp_path, when_started, arun):
    agent = agent_with(tmp_path)

    async def main():
        task = asyncio.create_task(agent.agenerate("Go"))
        loop = asyncio.get_running_loop()
        when_started(lambda: loop.call_soon_threadsafe(task.cancel))
        await asyncio.wait({task})
        assert task.cancelled()

    arun(main())
    assert agent.session[-1].content.startswith("partial\n")


def test_another_process_approves_a_command(tmp_path):
    program = (
        "import sys; from tools_agent import Session, SQLiteStore\n"
        "session = Session.open(SQLiteStore(sys.argv[1]), 'chat')\n"
        "request, = session.pending_approvals\n"
        "print(request['arguments']['command'])\n"
        "session.approve(request['call_id'])"
    )
    with SQLiteStore(tmp_path / "a.db") as store:
        model = ScriptedProvider(ToolCall("1", "bash", {"command": "echo hello > file"}), "Done")
        agent = Agent("chat", store=store, model=model, tools=[tools_shell.Bash()], workspace=tmp_path)
        agent.generate("Go")
        assert not (tmp_path / "file").exists()
        command = [sys.executable, "-c", program, tmp_path / "a.db"]
        approved = subprocess.run(command, check=True, capture_output=True, text=True)
        assert approved.stdout == "echo hello > file\n"
        assert agent.generate().content == "Done"
    assert (tmp_path / "file").read_text() == "hello\n"
