"""A day of work: the home of a user, a workspace in it, and the installed tools with their default settings."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cached_property
from pathlib import Path

import pytest

from tools_core import Context, Registry, ToolCall, ToolError
from tools_core.files import PROTECTED
from tools_shell import Bash, end_run

GIT_CONFIG = """\
[user]
    name = Ada Lovelace
    email = ada@example.org
[init]
    defaultBranch = main
[alias]
    st = status --short
"""


class Day:
    """The user's machine during one day: run tools in `workspace`, and look at the results from outside."""

    def __init__(self, home: Path, name: str) -> None:
        self.home = home
        self.workspace = home / "work" / name
        self.workspace.mkdir(parents=True)
        self.context = Context(workspace=self.workspace)
        self.accepted = {".git"}  # protected names that the day creates on purpose
        self.uncommitted: list[str] = []  # lines of `git status --porcelain` that the day leaves on purpose

    @cached_property
    def registry(self) -> Registry:
        """The installed tools, which read the environment of the day when they are first used."""
        registry = Registry()
        registry.discover()
        return registry

    def attempt(self, tool, /, **arguments):
        """Call a tool and return its result, whether it succeeded or not."""
        return self.registry.call(ToolCall(None, tool, arguments), self.context, approve="all")

    def call(self, tool, /, **arguments):
        """Call a tool that must succeed."""
        result = self.attempt(tool, **arguments)
        assert result.ok, result.error
        return result

    def bash(self, command, exit_code=0, **arguments):
        """Run a script and return its output."""
        result = self.call("bash", command=command, **arguments)
        assert result.output["exit_code"] == exit_code, result.content
        return result.output["output"]

    def python(self, code, **arguments):
        """Run Python code and return the value of its last expression."""
        result = self.call("python", code=code, **arguments)
        assert "error" not in result.output, result.content
        return result.output["value"]

    def start(self, command, wait_for="", **arguments):
        """Start a job, wait for a text in its output, and return the id of the job."""
        id = self.call("job_start", command=command, **arguments).output["id"]
        if wait_for:
            output = self.call("job_output", id=id, wait_for=wait_for, wait=60)
            assert output.output["found"] is not None, output.content
        return id

    def write(self, files):
        """Write the files of a project as its user would, without a tool."""
        for name, text in files.items():
            path = self.workspace / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, newline="")

    def read(self, name):
        """Read a file without a tool, to see what is really on disk."""
        return (self.workspace / name).read_text()

    def shell(self, command, exit_code=0, **options):
        """Run a command in the user's own terminal, without a tool."""
        options = {"cwd": self.workspace, "text": True, "stdin": subprocess.DEVNULL} | options
        process = subprocess.run(
            ["bash", "-c", command], check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options
        )
        assert process.returncode == exit_code, process.stdout
        return process.stdout

    def repository(self, files):
        """Make the workspace a repository of the user, with one commit of these files."""
        self.write(files)
        self.shell("git init --quiet && git add --all && git commit --quiet --message 'Start the project'")

    def ask_tools(self, *words, exit_code=0, **options):
        """Run the command `ask-tools` in the workspace and return its output."""
        command = [sys.executable, "-m", "tools_core", *words]
        options = {"cwd": self.workspace, "stdin": subprocess.DEVNULL, "text": True} | options
        process = subprocess.run(command, check=False, capture_output=True, **options)
        assert process.returncode == exit_code, process.stdout + process.stderr
        return process.stdout + process.stderr

    def check_workspace(self):
        """Assert that the tools left nothing in the workspace that the day did not create."""
        strange = []
        for folder, folders, files in os.walk(self.workspace):
            names = [*folders, *files]
            strange += [f"{folder}/{name}" for name in names if name in PROTECTED - self.accepted]
            strange += [f"{folder}/{name}" for name in names if name.startswith(".ask-tools")]
            if ".git" in folders:
                folders.remove(".git")
        assert strange == []
        if (self.workspace / ".git").exists():
            assert self.shell("git status --porcelain --untracked-files=all").splitlines() == self.uncommitted


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The new home of a user, without variables that would change the defaults."""
    for variable in [name for name in os.environ if name.startswith(("ASK_TOOLS_", "GIT_", "XDG_"))]:
        if variable != "ASK_TOOLS_ISOLATION":  # repeats all days at one level
            monkeypatch.delenv(variable)
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(GIT_CONFIG)
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.fixture
def new_day(home):
    """`new_day(name)` is a day at the default settings in a workspace with this name."""
    days = []

    def new_day(name):
        days.append(Day(home, name))
        return days[-1]

    new_day.days = days

    yield new_day
    for day in days:
        end_run(day.context.run_id)


@pytest.fixture
def day(new_day):
    """A day at the default settings."""
    return new_day("project")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Check the workspaces at the end of a day, unless the day has failed."""
    result = yield
    for day in item.funcargs["new_day"].days:
        end_run(day.context.run_id)
        day.check_workspace()
    return result


LEVELS = ["landlock", "contained", "none"]


@pytest.fixture(params=["sandboxed", *(pytest.param(level, marks=pytest.mark.slow) for level in LEVELS)])
def level(request, monkeypatch, day):
    """Repeat the day at each sandbox level of this machine; "sandboxed", the default, is the best one."""
    monkeypatch.setenv("ASK_TOOLS_ISOLATION", request.param)
    try:
        Bash(day.workspace).diagnose()
    except ToolError as error:
        pytest.skip(f"this system does not have it: {error.message}")
    return request.param
