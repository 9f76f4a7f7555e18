"""A program that runs an agent: `crash_agent.py STORE FILE RUNTIME MOMENT NUMBER`.

It is killed at the moment, "before" or "after", of the append to the session with that number. Its tools write their
names to the file when they run. `crash_agent.py STORE FOLDER RUNTIME random KILLS` runs agents in child processes that
it kills at random times and starts again, until there were so many kills, and prints what it has found.
"""

import asyncio
import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path

from tools_agent import Agent, Assistant, ScriptedProvider, StoreError, ToolResult, open_store
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


def make_agent(store, path, runtime="thread", session="s"):
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
    return Agent(session, store=store, model=provider, tools=tools, instructions="Be careful.", runtime=runtime)


def resume(agent):
    """Run the agent; with its prompt, unless the session has it."""
    has_prompt = any(message.role == "user" for message in agent.session)
    return agent.generate(None if has_prompt else "Go.")


def run(place, path, runtime, session):
    """Run the agent until the session is complete."""
    with open_store(place) as store, make_agent(store, path, runtime, session) as agent:
        if runtime != "async":
            resume(agent)
        else:
            asyncio.run(agent.agenerate(None if any(message.role == "user" for message in agent.session) else "Go."))


def check(place, path, session):
    """Print what a complete session has lost, repeated or left without an answer."""
    with open_store(place) as store:
        messages = make_agent(store, path, session=session).session.messages
    runs = Counter(path.read_text().split())
    results = [message for message in messages if isinstance(message, ToolResult)]
    problems = [] if [result.tool_call_id for result in results] == list(CALLS) else ["calls without one result"]
    if [message.content for message in messages if message.role == "user"] != ["Go."]:
        problems.append("a prompt is lost or repeated")
    if messages[-1].content != "All done." or sum(isinstance(message, Assistant) for message in messages) != 3:
        problems.append("a reply is lost or repeated")
    for result in results:
        name, is_unknown = result.name, result.error_type == "outcome_unknown"
        if runs[name] > 1 and name not in ("look", "put"):
            problems.append(f"{name} ran {runs[name]} times")
        if not (is_unknown and name in ("send", "pay")) and (result.content != f"{name} done" or runs[name] == 0):
            problems.append(f"the result of {name} is {result.content!r} after {runs[name]} runs")
    print(session, *problems, f"unknown={sum(result.error is not None for result in results)}", flush=True)


def forked(function, *arguments):
    """Call a function in a child process, and return its id."""
    if child := os.fork():
        return child
    code = 1
    try:
        function(*arguments)
        code = 0
    finally:
        sys.stderr.flush()
        os._exit(code)


def has_ended(child, seconds):
    """Wait for a child; return False if it still runs after so many seconds."""
    end = time.monotonic() + seconds
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > end:
            return False
        time.sleep(0.001)
    return True


def kill_at_random(place, folder, runtime, kills):
    """Kill the processes of agents at random times, and check each session once it is complete."""
    choice = random.Random(kills)
    count, sessions, usual = 0, 0, 0.0
    open_store(place).close()  # imports the driver once
    while count < kills:
        session, path = f"s{sessions}", folder / f"runs{sessions}"
        path.touch()
        start = time.monotonic()
        while True:
            child = forked(run, place, path, runtime, session)
            if has_ended(child, choice.uniform(0, usual) if sessions and count < kills else 60):
                break
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            count += 1
        usual = usual or 1.2 * (time.monotonic() - start)  # the time of the first run, which is not killed
        os.waitpid(forked(check, place, path, session), 0)
        sessions += 1
    print("kills", count, flush=True)


if __name__ == "__main__":
    place, path, runtime, moment, number = sys.argv[1:]
    if moment == "random":
        kill_at_random(place, Path(path), runtime, int(number))
    else:
        agent = make_agent(Killer(open_store(place), moment, int(number)), path, runtime)
        asyncio.run(agent.agenerate("Go.")) if runtime == "async" else agent.generate("Go.")
