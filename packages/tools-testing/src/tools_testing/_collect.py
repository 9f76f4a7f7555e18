"""`--tool-contract`: each promise of each installed tool as a test, without a test file."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import pytest

from tools_core import Registry, ToolError, UnknownToolError
from tools_testing._contract import CONTRACT, Subject

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

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
    """Return the tests of the tools that the values of the option name; of all tools for an empty one."""
    patterns = [name.strip() for value in values for name in value.split(",") if name.strip()]
    installed = Registry()
    installed.discover()
    names = dict.fromkeys(name for pattern in patterns or ["*"] for name in _matching(installed, pattern))
    # Through the session, which counts them and informs other plugins.
    return [item for name in names for item in session.genitems(_node(session, installed, name))]


def _matching(installed: Registry, pattern: str) -> list[str]:
    matches = [
        name for name in installed if fnmatchcase(name, pattern) or fnmatchcase(_qualified(installed, name), pattern)
    ]
    if not matches and pattern != "*":
        raise pytest.UsageError(
            f"--tool-contract: no installed tool is called {pattern!r}; there are {', '.join(installed) or 'none'}. "
            "The word after the option is a name: put paths before it, or write --tool-contract=NAME"
        )
    return matches


def _qualified(installed: Registry, name: str) -> str:
    point = installed.origin(name)
    return name if point is None or ":" in name else f"{point.distribution}:{name}"


def _node(session: pytest.Session, installed: Registry, name: str) -> ToolNode:
    point = installed.origin(name)
    subject: Subject | None = None
    problem: str | None = None
    try:
        origin = point.value.partition("[")[0].replace(" ", "") if point is not None else None
        subject = Subject(installed[name], origin=origin)
    except (ToolError, UnknownToolError) as error:
        problem = str(error)
    node: ToolNode = ToolNode.from_parent(session, name=name, nodeid=name, subject=subject, problem=problem)
    return node
