"""The contract of a tool: `CONTRACT` has each promise by its name, and `check_tool` checks all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_testing._contract import _boundary, _calls, _definition, _imports
from tools_testing._contract._promise import ContractReport, NotApplicable, Outcome, Promise
from tools_testing._contract._subject import Subject

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from tools_core import Context

__all__ = [
    "CONTRACT", "ContractReport", "NotApplicable", "Outcome", "Promise", "Subject", "all_but", "assert_contract",
    "check_tool",
]  # fmt: skip

CONTRACT: dict[str, Promise] = {
    promise.name: promise
    for module in (_definition, _imports, _boundary, _calls)
    for promise in vars(module).values()
    if isinstance(promise, Promise)
}


def check_tool(
    tool: Any,
    *,
    arguments: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    context: Context | None = None,
    ignore: Collection[str] = (),
) -> ContractReport:
    """Check every promise of the contract on one tool, and report each problem with its fix.

    The tool's body runs only for the sample `arguments`, or else for generated ones if the tool is
    `read_only`, not `open_world`, and needs no approval. All other checks replace the body.

    Args:
        tool: A Tool, a class of one, or a function.
        arguments: Sample arguments, or several of them, for which the body may run.
        context: The context of those calls; by default one with an empty folder as workspace.
        ignore: Names of promises to skip; `CONTRACT` lists them all.
    """
    subject = Subject(tool, arguments=arguments, context=context)
    promises = all_but(ignore, CONTRACT)
    return ContractReport(tool=subject.tool.name, outcomes=tuple(promise.outcome(subject) for promise in promises))


def assert_contract(
    tool: Any,
    *,
    arguments: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    context: Context | None = None,
    ignore: Collection[str] = (),
) -> None:
    """Check a tool as `check_tool` does; AssertionError with the report if a promise is broken."""
    report = check_tool(tool, arguments=arguments, context=context, ignore=ignore)
    if not report.ok:
        raise AssertionError(str(report))


def all_but(ignore: Collection[str], promises: Mapping[str, Promise]) -> list[Promise]:
    """Return the promises without those to ignore; ValueError for an unknown name."""
    unknown = sorted({*ignore} - CONTRACT.keys())
    if unknown:
        raise ValueError(f"no promise is called {unknown[0]!r}; there are {', '.join(CONTRACT)}")
    return [promise for name, promise in promises.items() if name not in ignore]
