"""A program that runs an agent: `crash_agent.py STORE FILE RUNTIME MOMENT NUMBER`.

It is killed at the moment, "before" or "after", of the append to the session with that number. Its tools write their
names to the file when they run.
"""

import asyncio
import os
import signal
import sys

from tools_agent import Agent, Assistant, ScriptedProvider, StoreError, open_store
from tools_core import ToolCall, tool

CALLS = {"a": "look", "b": "put", "c": "send", "d": "pay"}  # by id; the first three run at once


class Killer:
    """A store that kills the process before or after one append, or fails to append."""

    def __init__(self, store, moment, number):
        self._store = store
        self._moment, self._left = moment, number

    def __getattr__(self, name):
        return getattr(self._store, name)

    def append(self, *args, **kwargs):
        self._left -= 1
        if self._left == 0 and self._moment == "full disk":
            raise StoreError("the disk is full")
        if self._left == 0 and self._moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        value = self._store.append(*args, **kwargs)
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return value


def make_agent(store, path, runtime="thread"):
    """Return an agent that continues the session."""

    def run(name):
        with open(path, "a") as file:
            file.write(f"{name}\n")
        return f"{name} done"

    @tool(read_only=True)
    def look() -> str:
        """Change nothing."""
        return run("look")

    @tool(idempotent=True)
    def put() -> str:
        """Change something, which repetition does not change again."""
        return run("put")

    @tool
    def send() -> str:
        """Change something each time."""
        return run("send")

    @tool
    def pay() -> str:
        """Change something each time."""
        return run("pay")

    def reply(request):
        replies = sum(isinstance(message, Assistant) for message in request.messages)
        calls = [ToolCall(id, name, {}) for id, name in CALLS.items()]
        return [["I look, put and send.", *calls[:3]], [calls[3]], "All done."][replies]

    provider = ScriptedProvider(default=reply)
    tools = [look, put, send, pay]
    return Agent("s", store=store, model=provider, tools=tools, instructions="Be careful.", runtime=runtime)


def resume(agent):
    """Run the agent; with its prompt, unless the session has it."""
    has_prompt = any(message.role == "user" for message in agent.session)
    return agent.generate(None if has_prompt else "Go.")


if __name__ == "__main__":
    place, path, runtime, moment, number = sys.argv[1:]
    agent = make_agent(Killer(open_store(place), moment, int(number)), path, runtime)
    if runtime == "async":
        asyncio.run(agent.agenerate("Go."))
    else:
        agent.generate("Go.")
