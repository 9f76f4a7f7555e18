"""The pytest plugin: options and fixtures.

pytest imports this module in every run; so it imports pytest alone, and each fixture imports what it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tools_testing._fixtures import CallTool, RecordingContext, ToolSnapshot

# The asserts of the kits report their values, as in a test file.
pytest.register_assert_rewrite("tools_testing._conformance")

_RECORDS = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("tools_testing", "tools")
    group.addoption(
        "--tool-contract",
        action="append",
        nargs="?",
        const="",
        metavar="NAME,...",
        help="also check the contract of every installed tool, or of the tools that a name or pattern matches: "
        "--tool-contract, --tool-contract=read_file, --tool-contract='tools-shell:*'. No test file is needed",
    )
    group.addoption(
        "--tool-snapshot-update", action="store_true", help="record the definitions that tool_snapshot compares"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", "tool_contract: one promise of the contract of one tool; see --tool-contract")
    config.stash[_RECORDS] = []


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the tests of the contract before tests are deselected, so that `-k`, `-m` and `--deselect` apply to them."""
    values = config.getoption("--tool-contract")
    if values is not None:
        from tools_testing._collect import contract_items  # see the module's docstring

        items.extend(contract_items(session, values))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """List the definitions that were recorded."""
    records = config.stash[_RECORDS]
    if records:
        terminalreporter.section("tool snapshots")
        for line in records:
            terminalreporter.line(line)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """An empty folder; the workspace of `tool_context`."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def tool_context(workspace: Path) -> RecordingContext:
    """A Context with `workspace`, whose `reports` are the progress that tools reported."""
    from tools_testing._fixtures import RecordingContext  # see the module's docstring

    return RecordingContext(workspace=workspace)


@pytest.fixture
def call_tool(tool_context: RecordingContext) -> CallTool:
    """Call a tool, or the installed one of a name, with `tool_context`: `call_tool("weather", city="Paris")`."""
    from tools_testing._fixtures import CallTool  # see the module's docstring

    return CallTool(tool_context)


@pytest.fixture
def tool_snapshot(request: pytest.FixtureRequest) -> ToolSnapshot:
    """`tool_snapshot(tool)`: its definition is the recorded one."""
    from tools_testing._fixtures import SNAPSHOTS, ToolSnapshot  # see the module's docstring

    config = request.config
    update = bool(config.getoption("--tool-snapshot-update"))
    return ToolSnapshot(request.path.parent / SNAPSHOTS, update=update, records=config.stash[_RECORDS])
