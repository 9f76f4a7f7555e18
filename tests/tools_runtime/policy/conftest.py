"""A home, a project and a state of its own for each test; tools that write down what they did."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tools_core import Context, Tool, tool
from tools_runtime import Executor
from tools_runtime._policy import Policy


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """Folders: home, project (the current one, and the workspace), and where the user's policy and approvals are."""
    home, project = tmp_path / "home", tmp_path / "project"
    for folder in (home, project / "src"):
        folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.chdir(project)
    user = home / "config" / "ask-tools" / "policy.toml"
    user.parent.mkdir(parents=True)
    return SimpleNamespace(
        home=home,
        project=project,
        user=user,
        theirs=project / "ask-tools.toml",
        approvals=home / "state" / "ask-tools" / "approvals.json",
        context=Context(workspace=project),
    )


@pytest.fixture
def made():
    """What was really called, in order."""
    return []


@pytest.fixture
def tools(made):
    """One tool of each kind."""

    @tool(read_only=True)
    def look(what: str = "all") -> str:
        """Only reads."""
        made.append(("look", what))
        return what

    @tool
    def save(path: Path, limit: int = 10, tags: list[str] | None = None, force: bool = False) -> str:
        """Writes a file."""
        made.append(("save", str(path), limit))
        return "saved"

    @tool(read_only=True, requires_approval=True)
    def peek() -> str:
        """Reads something private."""
        made.append(("peek",))
        return "secret"

    class Run(Tool):
        """Runs commands, and says which."""

        name = "run"
        destructive = True

        def execute(self, commands: list[list[str | None]] | None = None) -> str:
            made.append(("run", commands))
            return "ran"

        def resources_for(self, arguments, context=None):
            commands = arguments.get("commands")
            return None if commands is None else {"commands": commands}

    return SimpleNamespace(look=look, save=save, peek=peek, run=Run())


@pytest.fixture
def every(tools):
    return list(vars(tools).values())


@pytest.fixture
def execute(every, place):
    """Call one tool under a policy."""

    def call(policy, call, **options):
        with Executor(every, policy=policy, plugins=False, **options) as executor:
            return executor.call(call, place.context)

    return call


@pytest.fixture
def decide(place):
    """What rules say of a call; no files but those of the test."""

    def decided(rules, tool, arguments=None, *, name=None):
        from tools_core import ToolCall

        policy = Policy(rules, files=[], project=place.project)
        return policy.decide(ToolCall("1", name or tool.name, arguments), tool, place.context).outcome

    return decided
