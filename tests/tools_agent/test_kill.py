"""A run is killed at each place where it could be; then another process goes on with the session."""

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tools_agent import Agent, ScriptedProvider, Session, SQLiteStore
from tools_core import Context, ToolCall, tool

CALLS = [ToolCall("1", "look", {}), ToolCall("2", "write", {}), ToolCall("3", "write", {})]


class FatalStore(SQLiteStore):
    """Kills the process before or after the write with a number."""

    write = 0
    is_before = False

    def append(self, session, records, *, after, owner=None):
        self.write -= 1
        if self.write == 0 and self.is_before:
            os.kill(os.getpid(), signal.SIGKILL)
        last = super().append(session, records, after=after, owner=owner)
        if self.write == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return last


def run(folder, runtime, store):
    """Run the agent of these tests, which notes the effects of its tools in a file."""

    def note(id):
        with Path(folder, "effects").open("a") as file:
            file.write(f"{id}\n")

    @tool(read_only=True)
    def look(context: Context) -> str:
        """Look."""
        note(context.call_id)
        return "seen"

    @tool
    def write(context: Context) -> str:
        """Write."""
        note(context.call_id)
        return "written"

    def reply(request):
        return CALLS if request.messages[-1].role == "user" else "Done"

    model = ScriptedProvider(default=reply)
    agent = Agent("chat", model=model, instructions="Be brief.", tools=[look, write], store=store, runtime=runtime)
    return agent.generate(None if len(agent.session) > 1 else "Go")


def killed(folder, runtime, write, is_before):
    """Run in a process that is killed at a write; return whether it was."""
    command = [sys.executable, __file__, folder, runtime, str(write), str(is_before)]
    process = subprocess.run(command, check=False, timeout=60)
    assert process.returncode in (0, -signal.SIGKILL)
    return process.returncode != 0


def check(folder, runtime):
    """Go on with the session, and check that nothing was lost or repeated."""
    with SQLiteStore(folder / "agent.db") as store:
        assert run(folder, runtime, store).content == "Done"
        messages = Session.open(store, "chat").messages
    assert " ".join(message.role for message in messages) == "system user assistant tool tool tool assistant"
    effects = Counter((folder / "effects").read_text().split())
    for result in messages[3:6]:
        made = effects[result.tool_call_id]
        if result.tool_call_id == "1":
            assert result.content == "seen"
        elif result.error_type == "outcome_unknown":
            assert made <= 1
        else:
            assert (result.content, made) == ("written", 1)


@pytest.mark.parametrize(
    ("write", "is_before"), [(4, False), (7, True)]
)  # a call that has begun; and one that has ended
def test_a_killed_run_goes_on_without_losing_or_repeating_an_effect(write, is_before, tmp_path):
    assert killed(tmp_path, "thread", write, is_before)
    check(tmp_path, "thread")


@pytest.mark.slow
@pytest.mark.parametrize("runtime", ["inline", "thread", "async"])
@pytest.mark.parametrize("is_before", [True, False])
def test_a_run_killed_at_any_write_goes_on(is_before, runtime, tmp_path):
    for write in range(1, 100):
        folder = tmp_path / str(write)
        folder.mkdir()
        was_killed = killed(folder, runtime, write, is_before)
        if not was_killed:
            assert write > 10
            return
        check(folder, runtime)


if __name__ == "__main__":
    folder, runtime, write, is_before = sys.argv[1:]
    with FatalStore(Path(folder, "agent.db")) as store:
        store.write, store.is_before = int(write), is_before == "True"
        run(folder, runtime, store)
