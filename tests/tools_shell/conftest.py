from __future__ import annotations

import gc
import os
import select
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from tools_core import Context, ToolError, tool
from tools_shell import Bash, end_run


@tool
def shared_run(context: Context) -> str:
    """Return the run of calls without a context."""
    return context.run_id


@pytest.fixture
def end_shared_run():
    """End the run of calls without a context."""
    return lambda: end_run(shared_run.call().output)


@pytest.fixture(scope="session")
def workspaces(tmp_path_factory):
    return tmp_path_factory.mktemp("workspaces")


@pytest.fixture
def root(workspaces):
    """A new workspace, always at the same path: which sandboxes work there is found out once, and not by each test."""
    folder = workspaces / "here" / "root"
    folder.mkdir(parents=True)
    yield folder
    folder.parent.rename(workspaces / f"left-{len(os.listdir(workspaces))}")


@pytest.fixture(autouse=True)
def state(workspaces, monkeypatch):
    """Folders of the tests for what sessions keep: the end of a run ends its sessions in every process of the user."""
    monkeypatch.setenv("XDG_STATE_HOME", str(workspaces / "state"))
    (workspaces / "temporary").mkdir(exist_ok=True)
    monkeypatch.setattr(tempfile, "tempdir", str(workspaces / "temporary"))
    yield
    for run_id in (shared_run.call().output, "r"):
        end_run(run_id)


@pytest.hookimpl(tryfirst=True)  # before the slow tests are deselected
def pytest_collection_modifyitems(items):
    """Run what runs at each level at one of them in the fast tests, and at the others in the slow ones."""
    for item in items:
        chosen = any(mark.args[0] == "level" for mark in item.iter_markers("parametrize"))
        if (
            not chosen
            and getattr(item, "callspec", None)
            and item.callspec.params.get("level", "contained") != "contained"
        ):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(params=["none", "contained", "landlock", "bubblewrap"])
def level(request, root):
    """Each level."""
    try:
        Bash(root, sandbox=request.param).diagnose()
    except ToolError as error:
        pytest.skip(f"this system does not have it: {error.message}")
    return request.param


@pytest.fixture
def bash(root, level):
    return Bash(str(root), sandbox=level)


class Lifeline:
    """A FIFO that a script's processes hold open: its end of file reports that all of them have ended."""

    def __init__(self, path):
        os.mkfifo(path)
        self.path = path
        self.descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def wait_for(self, words):
        """Wait until a process has written these."""
        poll = select.poll()
        poll.register(self.descriptor, select.POLLIN)
        data = b""
        while data != words:
            poll.poll()
            try:
                data += os.read(self.descriptor, 4096)
            except BlockingIOError:
                continue
            assert words.startswith(data)

    def holders_are_gone(self):
        # A FIFO that was never opened has no end of file: a process may have been killed before it could open it.
        os.close(os.open(self.path, os.O_WRONLY | os.O_NONBLOCK))
        poll = select.poll()
        poll.register(self.descriptor, select.POLLIN)
        while poll.poll(60_000):
            if not os.read(self.descriptor, 4096):
                return True
        return False  # a process still holds it


@pytest.fixture
def children_of():
    """`children_of(pid)`: the process IDs of its children."""

    def children_of(pid):
        found = []
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):  # the thread has ended
                found += map(int, (task / "children").read_text().split())
        return found

    return children_of


@pytest.fixture
def no_garbage():
    """Collect what earlier tests dropped: it may still hold descriptors and processes."""
    gc.collect()


@pytest.fixture
def lifeline(root):
    fifo = Lifeline(root / "lifeline")
    yield fifo
    os.close(fifo.descriptor)


@pytest.fixture
def at_its_limit():
    """`at_its_limit(tool, has_begun, **arguments)`: the result of a call without an end.

    A busy machine may need longer than a short limit to begin what is to be ended: then it gets a longer one.
    """

    def call(tool, has_begun, **arguments):
        for seconds in (1, 5, 30):
            result = tool.call(**arguments, timeout=seconds)
            if has_begun(result):
                break
        return result

    return call


@pytest.fixture
def all_at_once(root):
    """Run scripts concurrently, since each reaches its time limit; return the results when all processes have ended."""

    def run(bash, scripts, **arguments):
        lifelines = {name: Lifeline(root / f"lifeline {number}") for number, name in enumerate(scripts)}

        def one(name):
            return bash.call(command=f"exec 9> '{lifelines[name].path}'; {scripts[name]}", **arguments)

        with ThreadPoolExecutor(len(scripts)) as pool:
            results = dict(zip(scripts, pool.map(one, scripts), strict=True))
        left = [name for name, fifo in lifelines.items() if not fifo.holders_are_gone()]
        for fifo in lifelines.values():
            os.close(fifo.descriptor)
        assert left == []
        return results

    return run
