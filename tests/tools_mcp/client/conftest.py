from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tools_core.__main__ import main
from tools_mcp import McpToolset

ODD = Path(__file__).with_name("odd_server.py")


@pytest.fixture
def log(tmp_path):
    """The file in which the odd server writes what it has seen."""
    return tmp_path / "log"


@pytest.fixture
def command(log):
    """The command of the odd server in a mode: `command("hangs")`."""

    def command(mode=""):
        return [sys.executable, str(ODD), mode, str(log)]

    return command


@pytest.fixture
def odd(command):
    """A toolset of the odd server in a mode."""
    made = []

    def odd(mode="", **options):
        made.append(McpToolset(command(mode), **{"name": "odd", **options}))
        return made[-1]

    yield odd
    for toolset in made:
        toolset.close()


@pytest.fixture
def ask_tools(tmp_path, monkeypatch, capfd):
    """Run the command as a user whose files are in the test's folder: `ask_tools("mcp", "list").out`."""
    for name, folder in (("HOME", ""), ("XDG_CONFIG_HOME", "config"), ("XDG_CACHE_HOME", "cache")):
        monkeypatch.setenv(name, str(tmp_path / folder))
    for name in [name for name in os.environ if name.startswith("ASK_TOOLS_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)

    def ask_tools(*words, status=0):
        capfd.readouterr()
        code = main([*map(str, words)])
        done = capfd.readouterr()
        assert code == status, done.out + done.err
        return done

    return ask_tools
