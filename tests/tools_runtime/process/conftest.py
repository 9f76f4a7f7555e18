"""Runtimes with marked processes, and tools that misbehave in them."""

import importlib
import os
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tools_core import Context, ToolCall
from tools_runtime._process import ProcessRuntime

HERE = Path(__file__).parent
MARK = "TOOLS_RUNTIME_TEST"


def marked(mark):
    """The processes that have an entry in their environment, those that were started as programs as well as forks."""
    entry = f"{MARK}={mark}".encode()
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    if entry in file.read().split(b"\0"):
                        found.append(int(name))
            except OSError:
                continue
    return found


def children():
    found = []
    for thread in os.listdir("/proc/self/task"):
        with suppress(FileNotFoundError), open(f"/proc/self/task/{thread}/children") as file:  # it may have ended
            found += [int(pid) for pid in file.read().split()]
    return set(found)


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def eventually(claim, seconds=10.0):
    until = time.monotonic() + seconds
    while not claim():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


class Processes:
    """What the tests look at from outside."""

    def __init__(self, mark):
        self.mark = mark
        self.environment = {MARK: mark}

    def all(self):
        return marked(self.mark)

    is_alive = staticmethod(is_alive)
    eventually = staticmethod(eventually)
    children = staticmethod(children)


@pytest.fixture
def processes():
    """Marked processes, of which none is left in the end."""
    made = Processes(os.urandom(8).hex())
    before = children()
    yield made
    assert eventually(lambda: not made.all()), "processes are left"
    assert children() <= before, "a zombie is left"


@pytest.fixture
def tools(monkeypatch):
    """The tools, in a module that workers find."""
    monkeypatch.syspath_prepend(str(HERE / "workshop"))
    return importlib.import_module("hostile_tools")


@pytest.fixture
def make(processes, tools):
    """Makes runtimes, which are closed in the end."""
    made = []

    def runtime(*arguments, **options):
        environment = {**processes.environment, **options.pop("environment", {})}
        one = ProcessRuntime(*arguments, environment=environment, **options)
        made.append(one)
        return one

    yield runtime
    for one in made:
        one.close()


@pytest.fixture
def runtime(make):
    return make(2)


@pytest.fixture
def run(runtime):
    """Makes one call."""

    def call(tool, arguments=None, *, timeout=None, on=None, **context):
        inner = Context(timeout=timeout, **context) if timeout is not None or context else None
        return (on or runtime).run_tool(tool, ToolCall("call", tool.name, arguments or {}), inner)

    return call


@pytest.fixture
def timed(run):
    """Makes one call, and tells how long it took."""

    def call(tool, arguments=None, **options):
        began = time.monotonic()
        result = run(tool, arguments, **options)
        return result, time.monotonic() - began

    return call
