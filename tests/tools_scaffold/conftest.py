"""Fixtures for the tests of the scaffold."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _git_without_settings(tmp_path_factory, monkeypatch):
    """Hide the git settings of the user who runs the tests."""
    empty = tmp_path_factory.mktemp("git") / "config"
    empty.touch()
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(empty))
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", str(empty))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path_factory.getbasetemp()))


@pytest.fixture
def tree():
    """Return the content of every file in a folder, by path."""

    def tree(folder):
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    return tree


@pytest.fixture
def run():
    """Run a module in a folder with this Python and return its output; it must succeed."""

    def run(folder, *words, **options):
        command = [sys.executable, "-m", *map(str, words)]
        process = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, **options)
        assert process.returncode == 0, process.stdout + process.stderr
        return process.stdout

    return run


@pytest.fixture
def package(tmp_path):
    """A package with the tool `weather`."""
    from tools_scaffold import plan_package  # after the fixture that hides git's settings

    plan = plan_package("weather", into=tmp_path)
    plan.write()
    return Path(plan.folder)
