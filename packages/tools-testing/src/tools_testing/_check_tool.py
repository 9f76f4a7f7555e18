"""`check_tool` and `assert_contract`: the whole contract, from Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_testing._contract import CONTRACT, ContractReport, Subject

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from tools_core import Context
    from tools_testing._contract import Promise


def check_tool(
    tool: Any,
    *,
    arguments: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    context: Context | None = None,
    ignore: Collection[str] = (),
) -> ContractReport:
    """Check every promise of the contract on one tool, and report each problem with its fix.

    The tool's body runs only for the sample `arguments`, or, where there are none, for generated ones if the tool is
    `read_only`, not `open_world`, and needs no approval. All other checks replace the body.

    Args:
        tool: A Tool, a class of one, or a function.
        arguments: Sample arguments, or several of them, for which the body may run.
        context: The context of those calls; by default one with an empty folder as workspace.
        ignore: Names of promises to skip; `CONTRACT` lists them all.
    """
    subject = Subject(tool, arguments=arguments, context=context)
    promises = all_but(ignore, CONTRACT)
    return ContractReport(tool=subject.tool.name, outcomes=tuple(each.outcome(subject) for each in promises))


def assert_contract(
    tool: Any,
    *,
    arguments: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    context: Context | None = None,
    ignore: Collection[str] = (),
) -> None:
    """Check a tool as `check_tool` does; AssertionError with the report where a promise is broken."""
    report = check_tool(tool, arguments=arguments, context=context, ignore=ignore)
    if not report.ok:
        raise AssertionError(str(report))


def all_but(ignore: Collection[str], promises: Mapping[str, Promise]) -> list[Promise]:
    """Return the promises without those to ignore; ValueError for an unknown name."""
    unknown = sorted({*ignore} - CONTRACT.keys())
    if unknown:
        raise ValueError(f"no promise is called {unknown[0]!r}; there are {', '.join(CONTRACT)}")
    return [promise for name, promise in promises.items() if name not in ignore]
