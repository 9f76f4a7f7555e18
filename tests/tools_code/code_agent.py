"""A program that runs an agent with code: `code_agent.py STORE FILE KILLS_IN`.

Its tools write to the file when they run. The process is killed in the tool named by KILLS_IN, or before that tool
returns if the name ends with "!".
"""

import os
import signal
import sys

from tools_agent import Agent, ScriptedProvider, open_store
from tools_code import CodeMode
from tools_core import ToolCall, tool

CODE = """\
total = 0
for item in ["apple", "pear", "fig"]:
    total += price(item)
print("ordered", order(total=total))
print("mailed", mail(text=f"total {total}"))
"""


def make_agent(store, path, kills_in=""):
    def run(name, text):
        if kills_in == name:
            os.kill(os.getpid(), signal.SIGKILL)
        with open(path, "a") as file:
            file.write(f"{text}\n")
        if kills_in == f"{name}!":
            os.kill(os.getpid(), signal.SIGKILL)

    @tool(idempotent=True)
    def price(item: str) -> int:
        """Look up a price."""
        run(item, f"price {item}")
        return len(item)

    @tool(requires_approval=True)
    def order(total: int) -> dict[str, int]:
        """Order everything."""
        run("order", f"order {total}")
        return {"id": 7}

    @tool
    def mail(text: str) -> str:
        """Send a mail."""
        run("mail", f"mail {text}")
        return "sent"

    def reply(request):
        if request.messages[-1].role == "tool":
            return "All done."
        return ToolCall("call_1", "run_code", {"code": CODE})

    model = ScriptedProvider(default=reply)
    return Agent("s", store=store, model=model, tools=[CodeMode([price, order, mail])])


def resume(agent):
    """Run the agent, with its prompt unless the session has it."""
    return agent.generate(None if agent.session.messages else "Order fruit.")


if __name__ == "__main__":
    place, path, kills_in = sys.argv[1:]
    with open_store(place) as store, make_agent(store, path, kills_in) as agent:
        response = resume(agent)
        for request in response.pending:
            agent.session.approve(request["call_id"])
        if response.pending:
            resume(agent)
