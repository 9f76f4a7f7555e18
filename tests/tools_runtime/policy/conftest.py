"""A home, a project and a state folder for each test; example tools, and their decisions."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tools_core import Context, Effects, Tool, ToolCall, tool
from tools_runtime import Policy


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """Folders: home, project (the current one, and the workspace); the files of the user and of the project."""
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
    )


@pytest.fixture
def tools():
    """One tool of each kind."""

    @tool(read_only=True)
    def look(part: str = "all") -> str:
        """Only reads."""
        return part

    @tool(read_only=True, open_world=True)
    def fetch(url: str = "https://example.org") -> str:
        """Reads from the network."""
        return url

    @tool
    def save(path: Path, limit: int = 10, tags: list[str] | None = None, force: bool = False) -> str:
        """Writes a file."""
        return f"saved {path}"

    @tool(read_only=True, requires_approval=True)
    def peek() -> str:
        """Reads something private."""
        return "secret"

    class Run(Tool):
        """Runs commands, and reports which; None if they are unknown."""

        name = "run"
        destructive = True

        def execute(self, commands: list[list[str | None]] | None = None, needs: str = "") -> str:
            return "ran"

        def effects(self, arguments, context=None):
            commands, needs = arguments.get("commands"), arguments.get("needs")
            parsed = None if commands is None else [tuple(words) for words in commands]
            return Effects(self.annotations, paths=parsed and (), commands=parsed, missing=(needs,) if needs else ())

    return SimpleNamespace(look=look, fetch=fetch, save=save, peek=peek, run=Run())


@pytest.fixture
def judge(place):
    """Decide about one call of a tool by rules, without the user's files."""

    def judged(rules, tool, arguments=None, **options):
        policy = Policy(rules, files=[], project=place.project, **options)
        context = Context(workspace=place.project, run_id="run")
        return policy.decide_tool_call(ToolCall("1", tool.name, arguments), tool, context)

    return judged


@pytest.fixture
def decide(judge):
    """The outcome of the same."""
    return lambda *arguments, **options: judge(*arguments, **options).outcome
