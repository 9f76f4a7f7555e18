"""Define, run, stream, approve and resume: an agent whose context and output have types."""

import tempfile
from pathlib import Path
from typing import TypedDict

from tools_agent import Agent, Assistant, Request, ScriptedProvider, SQLiteStore, TextDelta
from tools_core import Context, ToolCall, tool


class Account(TypedDict):
    """The context of the agent."""

    user: str


@tool(destructive=True, requires_approval=True)
def delete(pattern: str, context: Context) -> str:
    """Delete files."""
    folder = context.ask("From which folder?", ["inbox", "archive"])
    return f"{context.state['user']} deleted 3 files {pattern} from {folder}"


def reply(request: Request) -> str | ToolCall:  # plays the model; with a real one: model = "openai:gpt-5"
    has_called = any(isinstance(message, Assistant) for message in request.messages)
    return "3" if has_called else ToolCall(None, "delete", {"pattern": "*.tmp"})


class Clerk(Agent[Account, int]):  # define
    """Tidies the office."""

    model = ScriptedProvider(default=reply)
    instructions = "Keep the office tidy."
    tools = (delete,)
    output = int  # or a pydantic model


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, SQLiteStore(Path(folder, "sessions.sqlite3")) as store:
        clerk = Clerk("office", {"user": "Ann"}, store=store)
        request = clerk.generate("Tidy up").pending[0]  # run
        print("approve?", request["tool"], request["arguments"])
        clerk.session.approve(request["call_id"])  # approve
        question = clerk.generate().pending[0]
        clerk.session.answer(question["call_id"], question["choices"][0])

        resumed = Clerk("office", {"user": "Ann"}, store=store)  # resume, in any process, also after a crash
        stream = resumed.stream()
        print([event.content for event in stream if isinstance(event, TextDelta)])  # stream
        print(stream.response.output, "|", resumed.session[-2].content)

# Output:
# approve? delete {'pattern': '*.tmp'}
# ['3']
# 3 | Ann deleted 3 files *.tmp from inbox
