"""What the tests of the scaffold share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _git_without_a_user(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the settings of whoever runs the tests out of them."""
    empty = tmp_path_factory.mktemp("git") / "config"
    empty.touch()
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(empty))
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", str(empty))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path_factory.getbasetemp()))


@pytest.fixture(name="tree")
def _tree() -> Callable[[Path], dict[str, Any]]:
    return tree


def tree(folder: Path) -> dict[str, Any]:
    """Everything below `folder`: the bytes of files, None for folders, the targets of links."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        found[name] = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
    return found


PROGRAM = """
import argparse, importlib, sys

def no_network(event, arguments):
    if event.startswith("socket."):
        raise SystemExit(f"it opened a socket: {event}")

sys.addaudithook(no_network)
configure = importlib.import_module(sys.argv.pop(1)).configure
parser = argparse.ArgumentParser("ask-tools")
configure(parser)
arguments = parser.parse_args()
sys.exit(arguments.run(arguments))
"""


@pytest.fixture
def program() -> str:
    """A program that runs a sub-command: its module, then its words."""
    return PROGRAM


@pytest.fixture(name="converse")
def _converse() -> Callable[..., tuple[int, str]]:
    return converse


def converse(folder: Path, answers: str, *words: str, site: Path = Path()) -> tuple[int, str]:
    """Run a sub-command on a terminal of its own and type the answers; its exit code, and what was to be seen."""
    import pty  # POSIX only

    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(site)!r})\n{PROGRAM}", *words]
    with subprocess.Popen(command, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        os.write(ours, answers.encode())
        seen = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            seen += part
    os.close(ours)
    return process.returncode, seen.decode().replace("\r\n", "\n")
