"""`check_tool` and `assert_contract`: the whole contract at once, from Python."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tools_core import Registry, Tool, Toolset
from tools_testing._contract import CONTRACT, ContractReport, Subject

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from tools_core import Context


def check_tool(
    tool: Any,
    *,
    arguments: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    context: Context | None = None,
    ignore: Collection[str] = (),
) -> ContractReport:
    """Try every promise of the contract on one tool, and tell all that is broken, each with its fix.

    The tool's body runs only for the sample `arguments`, or, where there are none, for generated ones if the tool is
    `read_only`, not `open_world`, and needs no approval. All other checks put another body in its place.

    Args:
        tool: A Tool, a class of one, or a function.
        arguments: Sample arguments, or several of them, for which the body may run.
        context: The context of those calls; by default one with an empty folder as workspace.
        ignore: Names of checks that are not made; `CONTRACT` has them all.
    """
    subject = subject_of(tool, arguments=arguments, context=context)
    unknown = sorted({*ignore} - CONTRACT.keys())
    if unknown:
        raise ValueError(f"there is no check {unknown[0]!r}; there are {', '.join(CONTRACT)}")
    outcomes = tuple(check(subject) for name, check in CONTRACT.items() if name not in ignore)
    return ContractReport(tool=subject.tool.name, outcomes=outcomes)


def assert_contract(
    tool: Any,
    *,
    arguments: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    context: Context | None = None,
    ignore: Collection[str] = (),
) -> None:
    """`check_tool`, with an AssertionError that tells everything that is broken."""
    report = check_tool(tool, arguments=arguments, context=context, ignore=ignore)
    if not report.is_ok:
        raise AssertionError(str(report))


def subject_of(
    tool: Any,
    *,
    arguments: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    context: Context | None = None,
    origin: str | None = None,
) -> Subject:
    """What the checks look at, of whatever stands for one tool."""
    found = one_tool(tool)
    given = [arguments] if hasattr(arguments, "keys") else list(arguments or ())
    return Subject(
        found,
        arguments=given,  # type: ignore[arg-type]  # a mapping was put into a list just now
        context=context,
        make=_maker(tool, found),
        origin=origin or _origin(tool if isinstance(tool, type) else found),
    )


def one_tool(tool: Any) -> Tool:
    """The tool that an object stands for; TypeError when it stands for several."""
    if isinstance(tool, Toolset) or (isinstance(tool, type) and issubclass(tool, Toolset)):
        raise TypeError(f"{tool!r} has several tools: check each of its .tools")
    registry = Registry()
    registry.register(tool)
    (found,) = registry.values()
    return found


def _maker(tool: Any, found: Tool) -> Callable[[], Tool] | None:
    """How to construct it once more: the class without arguments, where that gives the same tool."""
    made = tool if isinstance(tool, type) else type(found)
    try:
        again = made()
    # A function's tool, one that takes arguments, or one whose constructor, which is anybody's, fails here.
    except Exception:  # noqa: BLE001
        return None
    return (lambda: one_tool(made)) if again.name == found.name else None


def _origin(tool: Any) -> str | None:
    """`module:attribute`, if what is found there is this tool or its class."""
    for thing in (tool, type(tool)):
        module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
        # What the core defines stands for any tool, and not for this one.
        if not module or not name or module == "__main__" or "<" in name or module.startswith("tools_core."):
            continue
        found: Any = sys.modules.get(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is thing:
            return f"{module}:{name}"
    return None
