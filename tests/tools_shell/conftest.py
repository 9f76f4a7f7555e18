from __future__ import annotations

import os
import select

import pytest

from tools_shell import Bash


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def bash(root):
    return Bash(str(root))


class Lifeline:
    """A FIFO that a script's processes hold open: its end of file says that all of them are gone."""

    def __init__(self, path):
        os.mkfifo(path)
        self.path = path
        self.descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def holders_are_gone(self):
        poll = select.poll()
        poll.register(self.descriptor, select.POLLIN)
        while poll.poll(5000):
            if not os.read(self.descriptor, 4096):
                return True
        return False  # five seconds, and somebody still holds it


@pytest.fixture
def lifeline(tmp_path):
    held = Lifeline(tmp_path / "lifeline")
    yield held
    os.close(held.descriptor)
