"""The pytest plugin: options and fixtures.

pytest imports this module in every run; so it imports pytest alone, and each fixture imports what it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import Any

    from tools_testing._fixtures import CallTool, RecordingContext
    from tools_testing._recorded import Recorded
    from tools_testing._snapshots import Snapshots, ToolSnapshot

_SNAPSHOTS = pytest.StashKey["Snapshots"]()
_OUTPUT = "tool_snapshots"  # what a worker of pytest-xdist tells the main process


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("tools_testing", "tools")
    group.addoption(
        "--tool-contract",
        action="append",
        nargs="?",
        const="",
        metavar="NAME,...",
        help="also check the contract of every installed tool, or of those that NAME, 'x_*', PACKAGE, PACKAGE:NAME, "
        "FILE.py or FILE.py:NAME select. No test file is needed",
    )
    text = "send the requests of tests with the fixture `recorded` to their models, and record the replies"
    group.addoption("--record", action="store_true", help=text)
    group.addoption(
        "--tool-snapshot-update", action="store_true", help="record the definitions that tool_snapshot compares"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", "tool_contract: one promise of the contract of one tool; see --tool-contract")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the tests of the contract before tests are deselected, so that `-k`, `-m` and `--deselect` apply to them."""
    values = config.getoption("--tool-contract")
    if values is not None:
        from tools_testing._collect import contract_items  # see the module's docstring

        items.extend(contract_items(session, values))


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Note that a snapshot may belong to a test that does not run."""
    if items:
        _snapshots(items[0].config).is_partial = True


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note the tests that compare snapshots."""
    names = {item.nodeid for item in session.items if "tool_snapshot" in getattr(item, "fixturenames", ())}
    if names:
        _snapshots(session.config).expected |= names


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the main process of pytest-xdist what this worker has compared."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None and _SNAPSHOTS in session.config.stash:
        output[_OUTPUT] = _snapshots(session.config).to_dict()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Receive what a worker has compared."""
    if values := getattr(node, "workeroutput", {}).get(_OUTPUT):
        _snapshots(node.config).add(values)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config) -> None:
    """List the definitions that were recorded, and the files that no test needs."""
    if _SNAPSHOTS not in config.stash:
        return
    snapshots = _snapshots(config)
    unused = snapshots.unused(config.args, config.invocation_params.dir) if exitstatus == pytest.ExitCode.OK else []
    if lines := [*snapshots.records, *(f"unused: {path}" for path in unused)]:
        terminalreporter.section("tool snapshots")
        terminalreporter.write_line("\n".join(lines))


def _snapshots(config: pytest.Config) -> Snapshots:
    if _SNAPSHOTS not in config.stash:
        from tools_testing._snapshots import Snapshots  # see the module's docstring

        config.stash[_SNAPSHOTS] = Snapshots()
    return config.stash[_SNAPSHOTS]


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
    from tools_testing._snapshots import ToolSnapshot  # see the module's docstring

    return ToolSnapshot(request, _snapshots(request.config))


@pytest.fixture
def recorded(request: pytest.FixtureRequest) -> Iterator[Recorded]:
    """Replay a model and tools from `recordings/FILE/TEST.MODEL.jsonl`; `pytest --record` records them again."""
    from tools_testing._recorded import Recorded  # needs the extra `agent`

    recordings, failures = Recorded(request), request.session.testsfailed
    yield recordings
    recordings.finish(passed=request.session.testsfailed == failures)
