"""The installed tools, as the sub-commands see them."""

from __future__ import annotations

import sys
from contextlib import contextmanager

from tools_core._cli._terminal import CommandError, counted, note
from tools_core._registry._registry import Registry
from tools_core._values._errors import ToolError, UnknownToolError

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from typing import Any

    from tools_core._registry._entry_points import EntryPoint
    from tools_core._tools._tool import Tool


def discovered() -> Registry:
    """A registry of what is installed, and let in; none of it is imported. CommandError for an unreadable lock."""
    registry = Registry()
    try:
        registry.discover()
    except ValueError as broken:
        hint = "without a reliable lock nothing is let in; write one: ask-tools lock"
        raise CommandError(str(broken), hint) from broken
    return registry


def listing(registry: Registry) -> Iterator[dict[str, str]]:
    """What the metadata says of each tool: name, distribution, version, entry point and summary."""
    from tools_core._registry._entry_points import summary  # loaded already, with the registry

    summaries: dict[str, str] = {}
    for name in registry:
        point = registry.origin(name)
        if point is None:  # a discovered tool always has one
            continue
        if point.folder not in summaries:
            summaries[point.folder] = summary(point)
        yield {"name": name, **place(point), "summary": summaries[point.folder]}


def place(point: EntryPoint) -> dict[str, str]:
    """Where an entry point is."""
    return {"distribution": point.distribution, "version": point.version, "entry_point": point.value}


def installed_tool(name: str) -> tuple[Tool, dict[str, Any]]:
    """Load one tool and say where it comes from; CommandError for an unknown or broken one."""
    registry = discovered()
    tool = loaded(registry, name)
    return tool, _origin(tool, name, registry)


def loaded(registry: Registry, name: str) -> Tool:
    """Load one tool; CommandError for an unknown or broken one."""
    try:
        with prints_aside():
            return registry[name]
    except UnknownToolError as unknown:
        from tools_core._cli._siblings import where_to_get  # only for a mistake

        raise CommandError(str(unknown), where_to_get(name), "ask-tools list", type="unknown_tool") from unknown
    except ToolError as broken:
        raise CommandError(broken.message, "details: ask-tools doctor", status=1, type=broken.type) from broken


def loaded_all(registry: Registry) -> dict[str, Tool]:
    """Every tool that loads; the others are among the registry's problems."""
    with prints_aside():
        return dict(registry.items())


def tell_problems(registry: Registry) -> None:
    """Say in one line each what else there is to be known."""
    if problems := len(registry.problems):
        note(f"{counted(problems, 'problem')} found; details: ask-tools doctor")
    if blocked := len(registry.blocked):
        note(f"{blocked} barred by ASK_TOOLS_ALLOW, ASK_TOOLS_DENY or ASK_TOOLS_LOCK; details: ask-tools doctor")


@contextmanager
def prints_aside() -> Generator[None]:
    """Send what foreign code prints, and the programs that it starts, to standard error: output is for results."""
    import os  # loaded already, by the interpreter

    sys.stdout.flush()
    kept, sys.stdout = sys.stdout, sys.stderr
    try:
        saved = os.dup(1)
        os.dup2(2, 1)
    except OSError:  # one of the two is closed: there is nothing to keep apart
        saved = -1
    try:
        yield
    finally:
        sys.stdout = kept
        if saved >= 0:
            os.dup2(saved, 1)
            os.close(saved)


def _origin(tool: Tool, name: str, registry: Registry) -> dict[str, Any]:
    """Distribution and version, and the file and line of the tool's own code."""
    origin: dict[str, Any] = {}
    point = registry.origin(name)
    if point is not None:
        origin = {**place(point)}
    function = getattr(tool, "__wrapped__", None) or type(tool).execute
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is not None:
        origin |= {"file": code.co_filename, "line": code.co_firstlineno}
    return origin
