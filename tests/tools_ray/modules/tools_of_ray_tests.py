"""Tools in a module that the workers can import."""

import os
import signal
import sys
import threading
import time

from tools_core import Context, Tool, tool


def note(path):
    with open(path, "a") as file:
        file.write(f"{os.getpid()}\n")


@tool
def node() -> str:
    """Return the node."""
    import ray

    return ray.get_runtime_context().get_node_id()


@tool
def sleeps(path: str) -> None:
    """Note the process, and sleep."""
    note(path)
    time.sleep(600)


@tool
def dies(path: str) -> None:
    """Note the process, and kill it."""
    note(path)
    os.kill(os.getpid(), signal.SIGKILL)


@tool(idempotent=True)
def dies_once(path: str) -> str:
    """Die the first time."""
    note(path)
    with open(path) as file:
        if len(file.readlines()) == 1:
            os.kill(os.getpid(), signal.SIGKILL)
    return "done"


@tool
def exits() -> None:
    """Exit."""
    sys.exit(3)


@tool
def fails() -> None:
    """Fail."""
    raise LookupError("nowhere")


@tool
def returns_lock() -> object:
    """Return what cannot be pickled."""
    return threading.Lock()


@tool(stateful=True)
def process() -> int:
    """Return the process."""
    return os.getpid()


@tool
def surroundings(context: Context) -> dict[str, object]:
    """Return what the context has."""
    try:
        problem = context.state["lock"]
    except KeyError as error:
        problem = str(error)
    return {
        "workspace": str(context.workspace),
        "run": context.run_id,
        "has_time": 0 < context.remaining <= 50,
        "user": context.state["user"],
        "problem": problem,
    }


def double(**arguments) -> int:
    """Double a number."""
    return 2 * arguments["number"]


NUMBER = {"type": "integer", "maximum": 100}
capped = tool(
    double, name="capped", input_schema={"type": "object", "properties": {"number": NUMBER}, "required": ["number"]}
)


class Varies(Tool):
    """Has another definition in each process."""

    @property
    def definition(self):
        return {**super().definition, "description": str(os.getpid())}

    def execute(self) -> None:
        pass


class Locked(Tool):
    """Has an attribute that cannot be pickled."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def execute(self) -> None:
        pass
