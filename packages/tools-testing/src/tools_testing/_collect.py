"""`--tool-contract`: each promise of each installed tool as a test, without a test file."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tools_core import Registry, ToolError, UnknownToolError
from tools_core.command import CommandError, find_tools
from tools_testing._contract import CONTRACT, Subject

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    from tools_core import EntryPoint, Tool
    from tools_testing._contract import Promise


class BrokenContract(Exception):
    """Raised by a test that failed; its text is the whole report."""


class ToolNode(pytest.Collector):
    """One tool, or the entry point of one that did not load."""

    def __init__(self, *, subject: Subject | None, problem: str | None, **options: Any) -> None:
        super().__init__(**options)
        self.subject = subject
        self.problem = problem
        self.add_marker("tool_contract")

    def collect(self) -> Iterator[pytest.Item]:
        """Yield a test for each promise."""
        if self.problem is not None:
            yield ContractItem.from_parent(self, name="loads", problem=self.problem)
        if self.subject is not None:
            for promise in CONTRACT.values():
                yield ContractItem.from_parent(self, name=promise.name, promise=promise, subject=self.subject)


class ContractItem(pytest.Item):
    """A test of one promise of one tool, or one that fails because the tool did not load."""

    def __init__(
        self,
        *,
        promise: Promise | None = None,
        subject: Subject | None = None,
        problem: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.promise = promise
        self.subject = subject
        self.problem = problem

    def runtest(self) -> None:
        """Check the promise."""
        if self.promise is None or self.subject is None:
            raise BrokenContract(self.problem)
        outcome = self.promise.outcome(self.subject)
        if outcome.skipped is not None:
            pytest.skip(outcome.skipped)
        if not outcome.ok:
            raise BrokenContract(str(outcome))

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """Return the place in the list of tests, which is not in a file."""
        return self.config.rootpath, None, self.nodeid

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the report alone, or the traceback of an unexpected exception."""
        if isinstance(excinfo.value, BrokenContract):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)


def contract_items(session: pytest.Session, values: Sequence[str]) -> list[pytest.Item]:
    """Return the tests of the tools that the values of the option select; of all tools for an empty one."""
    patterns = [value for value in values if value]
    installed = Registry()
    installed.discover()
    try:
        matches = find_tools(patterns or None, installed)
    except CommandError as error:
        hint = "The word after the option is a pattern: put paths before it, or write --tool-contract=PATTERN"
        raise pytest.UsageError(f"--tool-contract: {error}. {hint}") from error
    loaders = {
        match.name: partial(installed.__getitem__, match.name) if match.name in installed else match.load
        for match in matches
    }
    nodes = [_node(session, name, installed.origin(name), load) for name, load in loaders.items()]
    # Through the session, which counts them and informs other plugins.
    return [item for node in nodes for item in session.genitems(node)]


def _node(session: pytest.Session, name: str, point: EntryPoint | None, load: Callable[[], Tool]) -> ToolNode:
    subject: Subject | None = None
    problem: str | None = None
    try:
        origin = point.value.partition("[")[0].replace(" ", "") if point is not None else None
        subject = Subject(load(), origin=origin)
    except (CommandError, ToolError, UnknownToolError) as error:
        problem = str(error)
    node: ToolNode = ToolNode.from_parent(session, name=name, nodeid=name, subject=subject, problem=problem)
    return node
