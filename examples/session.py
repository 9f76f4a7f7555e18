"""An agent with a session on disk: it is interrupted between two calls, and another agent continues."""

import tempfile
from pathlib import Path

from tools_agent import Agent, Message, Request, ScriptedProvider, SQLiteStore
from tools_core import ToolCall, tool


@tool(read_only=False)  # these run one after the other
def weather(city: str) -> str:
    """Look up the weather in a city."""
    print("looking up", city)
    return f"{city}: sunny"


def reply(request: Request) -> str | list[ToolCall]:  # plays the model; with a real one: model="openai:gpt-5"
    last = request.messages[-1]
    if last.role != "user":
        return "Sunny in both."
    if "again" in last.to_json():
        return "Still sunny."
    return [ToolCall(None, "weather", {"city": city}) for city in ("Oslo", "Rome")]


def open_agent(store: SQLiteStore) -> Agent:
    return Agent("trip", store=store, model=ScriptedProvider(default=reply), tools=[weather])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, SQLiteStore(Path(folder, "sessions.sqlite3")) as store:
        first = open_agent(store)

        def stop(message: Message) -> None:
            if message.role == "tool":
                first.interrupt("one is enough")  # also from another thread, or with Ctrl-C

        first.session.on_message(stop)
        print(first.generate("How are Oslo and Rome?").outcome)

        second = open_agent(store)  # in any process, also after a crash
        print("pending:", [call.arguments for call in second.session.pending_tool_calls])
        print(second.generate().content)
        print(second.generate("And again?").content)
        print([message.role for message in second.session])

# Output:
# looking up Oslo
# interrupted
# pending: [{'city': 'Rome'}]
# looking up Rome
# Sunny in both.
# Still sunny.
# ['user', 'assistant', 'tool', 'tool', 'assistant', 'user', 'assistant']
