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
        pids = []
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open(f"/proc/{name}/environ", "rb") as file:
                        if entry in file.read().split(b"\0"):
                            pids.append(int(name))
                except OSError:
                    continue
        return pids

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
    marked = Processes(os.urandom(8).hex())
    monkeypatch.setenv(MARK, marked.mark)
    yield marked
    assert marked.eventually(lambda: not marked.all()), "processes still run"


@pytest.fixture
def tools(monkeypatch):
    """The tools, in a module that workers find."""
    monkeypatch.syspath_prepend(str(HERE / "workshop"))
    return importlib.import_module("process_tools")


@pytest.fixture
def make(processes, tools):
    """Makes runtimes, which are closed in the end."""
    runtimes = []

    def runtime(*arguments, **options):
        runtimes.append(ProcessRuntime(*arguments, **options))
        return runtimes[-1]

    yield runtime
    for new_runtime in runtimes:
        new_runtime.close()


@pytest.fixture
def runtime(make):
    return make(1)


@pytest.fixture
def begin(runtime):
    """Begins a call; returns its context and a future."""

    def call(tool, arguments=None, *, on=None, **parts):
        context = Context(**parts)
        attempt = (on or runtime).begin(tool, ToolCall("call", tool.name, arguments or {}), context)
        assert not isinstance(attempt, Result), attempt
        future = Future()
        threading.Thread(target=lambda: future.set_result(attempt())).start()
        return context, future

    return call


@pytest.fixture
def run(runtime):
    """Makes one call."""

    def call(tool, arguments=None, *, on=None, **parts):
        values = {} if arguments is None else arguments
        attempt = (on or runtime).begin(tool, ToolCall("call", tool.name, values), Context(**parts))
        return attempt if isinstance(attempt, Result) else attempt()

    return call
