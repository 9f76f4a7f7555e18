"""Approval in two processes: one runs the agent until it needs approval, another one approves and continues."""

import subprocess
import sys
import tempfile
from pathlib import Path

from tools_agent import Agent, Request, ScriptedProvider, SQLiteStore
from tools_core import ToolCall, tool


@tool(destructive=True, requires_approval=True)
def delete(name: str) -> str:
    """Delete a file of the inbox."""
    return f"deleted {name}"


def reply(request: Request) -> str | ToolCall:  # plays the model; with a real one: model="openai:gpt-5"
    last = request.messages[-1]
    return ToolCall(None, "delete", {"name": "old.log"}) if last.role == "user" else "I have tidied up."


def open_agent(folder: Path) -> Agent:
    store = SQLiteStore(folder / "sessions.sqlite3")
    return Agent("tidy-up", store=store, model=ScriptedProvider(default=reply), tools=[delete])


def ask(folder: Path) -> None:
    response = open_agent(folder).generate("Tidy my inbox.")
    print("first process:", response.outcome, response.interrupt_reason, flush=True)


def answer(folder: Path) -> None:
    agent = open_agent(folder)
    for request in agent.session.pending_approvals:
        print("second process: approved", request["tool"], request["arguments"])
        agent.session.approve(request["call_id"])  # or: deny(request["call_id"], "keep it")
    print("second process:", agent.generate().content)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        answer(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            ask(Path(folder))
            subprocess.run([sys.executable, __file__, folder], check=True)

# Output:
# first process: interrupted approval_required
# second process: approved delete {'name': 'old.log'}
# second process: I have tidied up.
