from __future__ import annotations

import os
import select
from concurrent.futures import ThreadPoolExecutor

import pytest

from tools_core import ToolError
from tools_shell import Bash, Sandbox
from tools_shell._sandbox._isolation import isolation_for


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


def pytest_configure(config):
    config.addinivalue_line("markers", "alike_on_all_rungs: no rung has a part in it, so three of the four are slow")


@pytest.hookimpl(tryfirst=True)  # before the slow ones are left out
def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("alike_on_all_rungs") and item.callspec.params["level"] != "contained":
            item.add_marker(pytest.mark.slow)


@pytest.fixture(params=["none", "contained", "landlock", "bubblewrap"])
def level(request, root):
    """Each rung of the ladder."""
    try:
        isolation_for(Sandbox(level=request.param), str(root))
    except ToolError as error:
        pytest.skip(f"this system does not have it: {error.message}")
    return request.param


@pytest.fixture
def bash(root, level):
    return Bash(str(root), sandbox=level)


class Lifeline:
    """A FIFO that a script's processes hold open: its end of file says that all of them are gone."""

    def __init__(self, path):
        os.mkfifo(path)
        self.path = path
        self.descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def wait_for(self, words):
        """Until somebody has written these."""
        poll = select.poll()
        poll.register(self.descriptor, select.POLLIN)
        seen = b""
        while seen != words:
            poll.poll()
            try:
                seen += os.read(self.descriptor, 4096)
            except BlockingIOError:
                continue
            assert words.startswith(seen)

    def holders_are_gone(self):
        # A FIFO that nobody has opened yet has no end of file: who was killed before he could open it is gone, too.
        os.close(os.open(self.path, os.O_WRONLY | os.O_NONBLOCK))
        poll = select.poll()
        poll.register(self.descriptor, select.POLLIN)
        while poll.poll(20_000):
            if not os.read(self.descriptor, 4096):
                return True
        return False  # somebody still holds it


@pytest.fixture
def lifeline(root):
    held = Lifeline(root / "lifeline")
    yield held
    os.close(held.descriptor)


@pytest.fixture
def all_at_once(root):
    """Run scripts side by side, since each takes all of its time; the results, when nothing is left of any."""

    def run(bash, scripts, **arguments):
        lifelines = {name: Lifeline(root / f"lifeline {number}") for number, name in enumerate(scripts)}

        def one(name):
            return bash.call(command=f"exec 9> '{lifelines[name].path}'; {scripts[name]}", **arguments)

        with ThreadPoolExecutor(len(scripts)) as pool:
            found = dict(zip(scripts, pool.map(one, scripts), strict=True))
        left = [name for name, held in lifelines.items() if not held.holders_are_gone()]
        for held in lifelines.values():
            os.close(held.descriptor)
        assert left == []
        return found

    return run
