"""The pytest plugin: options, fixtures, and where to find what they do.

pytest loads this module in every run of everybody who has the package; so it imports pytest alone, and each fixture
imports what it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tools_core import Registry, Result
    from tools_testing._calls import CallTool
    from tools_testing._context import RecordingContext
    from tools_testing._snapshot import ToolSnapshot

# The kits are tests that one inherits: their plain asserts are to be as readable as one's own.
pytest.register_assert_rewrite("tools_testing._conformance")

_WRITTEN = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("tools_testing", "tools")
    group.addoption(
        "--tool-contract",
        action="append",
        nargs="?",
        const="",
        metavar="NAME,...",
        help="also check the contract of every installed tool, or of those that a name or pattern matches: "
        "--tool-contract, --tool-contract=read_file, --tool-contract='tools-shell:*'. No test file is needed",
    )
    group.addoption(
        "--tool-snapshot-update",
        action="store_true",
        help="put the definitions on record that tool_snapshot compares",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the markers known."""
    config.addinivalue_line("markers", "tool_contract: one check of the contract of one tool; see --tool-contract")
    config.stash[_WRITTEN] = []


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the checks before anything is deselected, so that `-k`, `-m` and `--deselect` know them."""
    wanted = config.getoption("--tool-contract")
    if wanted is not None:
        from tools_testing._collect import contract_items  # who does not ask for it does not pay for it

        items.extend(contract_items(session, wanted))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Tell which definitions were put on record."""
    written = config.stash[_WRITTEN]
    if written:
        terminalreporter.section("tool snapshots")
        for line in written:
            terminalreporter.line(line)


@pytest.fixture
def tool_registry() -> Registry:
    """A registry of the test's own: nothing installed is in it, and nothing stays."""
    from tools_core import Registry  # see the module's first lines

    return Registry()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """An empty folder that tools may work in; `tool_context` has it as its workspace."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def tool_context(workspace: Path) -> RecordingContext:
    """A Context with `workspace`, whose `reports` are the progress that tools told."""
    from tools_testing._context import RecordingContext  # see the module's first lines

    return RecordingContext(workspace=workspace)


@pytest.fixture
def call_tool(tool_registry: Registry, tool_context: RecordingContext) -> CallTool:
    """Call a tool, or the one of a name, with `tool_context`: `call_tool("weather", city="Paris")`.

    Names are those of `tool_registry`, then those of what is installed.
    """
    from tools_testing._calls import CallTool  # see the module's first lines

    return CallTool(tool_registry, tool_context)


@pytest.fixture
def assert_ok() -> Callable[..., Any]:
    """`assert_ok(result, output)`: the call succeeded, with this output if one is given."""
    from tools_testing._assertions import assert_ok  # see the module's first lines

    return assert_ok


@pytest.fixture
def assert_error() -> Callable[..., str]:
    """`assert_error(result, type="not_found", match="...")`: the call failed in this way."""
    from tools_testing._assertions import assert_error  # see the module's first lines

    return assert_error


@pytest.fixture
def assert_halted() -> Callable[[Result], Any]:
    """`assert_halted(result, output)`: the call ends the conversation."""
    from tools_testing._assertions import assert_halted  # see the module's first lines

    return assert_halted


@pytest.fixture
def tool_snapshot(request: pytest.FixtureRequest) -> ToolSnapshot:
    """`tool_snapshot(tool)`: its definition is the one on record, else the verdict on the change."""
    from tools_testing._snapshot import FOLDER, ToolSnapshot  # see the module's first lines

    config = request.config
    update = bool(config.getoption("--tool-snapshot-update"))
    return ToolSnapshot(request.path.parent / FOLDER, update=update, written=config.stash[_WRITTEN])
