from __future__ import annotations

import os
import select

import pytest

from tools_core import ToolError
from tools_shell import Bash, Sandbox
from tools_shell._sandbox._isolation import isolation_for


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


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
        poll = select.poll()
        poll.register(self.descriptor, select.POLLIN)
        while poll.poll(5000):
            if not os.read(self.descriptor, 4096):
                return True
        return False  # five seconds, and somebody still holds it


@pytest.fixture
def lifeline(root):
    held = Lifeline(root / "lifeline")
    yield held
    os.close(held.descriptor)
