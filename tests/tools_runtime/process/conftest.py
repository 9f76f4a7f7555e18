"""Runtimes with marked processes."""

import importlib
import os
import threading
import time
from concurrent.futures import Future
from multiprocessing import resource_tracker
from pathlib import Path

import pytest

from tools_core import Context, Result, ToolCall
from tools_runtime import ProcessRuntime

HERE = Path(__file__).parent
MARK = "TOOLS_RUNTIME_TEST"


class Processes:
    """The processes of a test, seen from outside."""

    def __init__(self, mark):
        self.mark = mark

    def all(self):
        """Return the processes that have the mark in their environment, programs as well as forks."""
        entry = f"{MARK}={self.mark}".encode()
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

    @staticmethod
    def is_alive(pid):
        try:
            with open(f"/proc/{pid}/stat") as file:
                return file.read().rpartition(")")[2].split()[0] not in "ZX"
        except OSError:
            return False

    @staticmethod
    def eventually(claim, seconds=20.0):
        until = time.monotonic() + seconds
        while not claim():
            if time.monotonic() > until:
                return False
            threading.Event().wait(0.01)
        return True


@pytest.fixture
def processes(monkeypatch):
    """Marked processes; all must end with the test."""
    resource_tracker.ensure_running()  # it serves this process to its end, and must not have the mark
    made = Processes(os.urandom(8).hex())
    monkeypatch.setenv(MARK, made.mark)
    yield made
    assert made.eventually(lambda: not made.all()), "processes still run"


@pytest.fixture
def tools(monkeypatch):
    """The tools, in a module that workers find."""
    monkeypatch.syspath_prepend(str(HERE / "workshop"))
    return importlib.import_module("process_tools")


@pytest.fixture
def make(processes, tools):
    """Makes runtimes, which are closed in the end."""
    made = []

    def runtime(*arguments, **options):
        made.append(ProcessRuntime(*arguments, **options))
        return made[-1]

    yield runtime
    for one in made:
        one.close()


@pytest.fixture
def runtime(make):
    return make(1)


@pytest.fixture
def begin(runtime):
    """Begins a call; returns its context and a future."""

    def call(tool, arguments=None, *, on=None, **parts):
        context = Context(**parts)
        begun = (on or runtime).begin(tool, ToolCall("call", tool.name, arguments or {}), context)
        assert not isinstance(begun, Result), begun
        future = Future()
        threading.Thread(target=lambda: future.set_result(begun())).start()
        return context, future

    return call


@pytest.fixture
def run(runtime):
    """Makes one call."""

    def call(tool, arguments=None, *, on=None, **parts):
        given = {} if arguments is None else arguments
        begun = (on or runtime).begin(tool, ToolCall("call", tool.name, given), Context(**parts))
        return begun if isinstance(begun, Result) else begun()

    return call
