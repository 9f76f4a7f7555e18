"""`--tool-contract`: every check of every tool as a test of its own, without a test file."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import pytest

from tools_core import Registry, ToolError, UnknownToolError
from tools_testing._check_tool import subject_of
from tools_testing._contract import CONTRACT

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from tools_testing._contract import Check, Outcome, Subject


class BrokenContract(Exception):
    """A check found problems; its text is the whole report."""


class ToolNode(pytest.Collector):
    """One tool, or the entry of one that did not load."""

    def __init__(self, *, subject: Subject | None, problem: str | None, **options: Any) -> None:
        super().__init__(**options)
        self.subject = subject
        self.problem = problem
        self.add_marker("tool_contract")

    def collect(self) -> Iterator[pytest.Item]:
        """Its checks."""
        if self.problem is not None:
            yield LoadItem.from_parent(self, name="loads", problem=self.problem)
        if self.subject is not None:
            for check in CONTRACT.values():
                yield CheckItem.from_parent(self, name=check.name, check=check, subject=self.subject)


class ContractItem(pytest.Item):
    """A test that is no function: its report is its own."""

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """Where it is listed: there is no file."""
        return self.config.rootpath, None, self.nodeid

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The report alone; a defect of ours with its traceback."""
        if isinstance(excinfo.value, BrokenContract):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)


class CheckItem(ContractItem):
    """One check of one tool."""

    def __init__(self, *, check: Check, subject: Subject, **options: Any) -> None:
        super().__init__(**options)
        self.check = check
        self.subject = subject

    def runtest(self) -> None:
        """Look, and tell."""
        outcome: Outcome = self.check(self.subject)
        if outcome.skipped is not None:
            pytest.skip(outcome.skipped)
        if not outcome.is_ok:
            raise BrokenContract(str(outcome))


class LoadItem(ContractItem):
    """An installed tool that did not load."""

    def __init__(self, *, problem: str, **options: Any) -> None:
        super().__init__(**options)
        self.problem = problem

    def runtest(self) -> None:
        """Tell why."""
        raise BrokenContract(self.problem)


def contract_items(session: pytest.Session, wanted: Sequence[str]) -> list[pytest.Item]:
    """The tests for the tools that the values of the option name; all of them for an empty one."""
    patterns = [name.strip() for value in wanted for name in value.split(",") if name.strip()]
    installed = Registry()
    installed.discover()
    _load_toolsets(installed)
    names = list(dict.fromkeys(name for pattern in patterns or ["*"] for name in _matching(installed, pattern)))
    nodes = [_node(session, installed, name) for name in names]
    # Through the session, which counts them and tells other plugins.
    return [item for node in nodes for item in session.genitems(node)]


def _load_toolsets(installed: Registry) -> None:
    """The tools of a toolset are known once it is loaded: asking for each name does that."""
    for name in list(installed):
        try:
            installed.get(name)
        except (ToolError, UnknownToolError):
            continue  # told by the test of that name


def _matching(installed: Registry, pattern: str) -> list[str]:
    found = [
        name for name in installed if fnmatchcase(name, pattern) or fnmatchcase(_qualified(installed, name), pattern)
    ]
    if not found and pattern != "*":
        near = ", ".join(installed) or "none"
        raise pytest.UsageError(
            f"--tool-contract: no installed tool is called {pattern!r}; there are {near}. "
            "What follows the option is a name: put paths before it, or write --tool-contract=NAME"
        )
    return found


def _qualified(installed: Registry, name: str) -> str:
    point = installed.origin(name)
    return name if point is None or ":" in name else f"{point.distribution}:{name}"


def _node(session: pytest.Session, installed: Registry, name: str) -> ToolNode:
    point = installed.origin(name)
    subject: Subject | None = None
    problem: str | None = None
    try:
        tool = installed[name]
    except (ToolError, UnknownToolError) as error:
        problem = str(error)
    else:
        origin = point.value.partition("[")[0].replace(" ", "") if point is not None else None
        subject = subject_of(tool, origin=origin)
    node: ToolNode = ToolNode.from_parent(session, name=name, nodeid=name, subject=subject, problem=problem)
    return node
