"""The installed tools, as the sub-commands see them."""

from __future__ import annotations

import sys
from contextlib import contextmanager

from tools_core._command._terminal import CommandError
from tools_core._errors import ToolError, UnknownToolError
from tools_core._registry import Registry

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from typing import Any

    from tools_core._tool import Tool


def discovered() -> Registry:
    """A registry of what is installed; none of it is imported."""
    registry = Registry()
    registry.discover()
    return registry


def listing(registry: Registry) -> Iterator[dict[str, str]]:
    """What the metadata says of each tool: name, distribution, version, entry point and summary."""
    from tools_core._entry_points import summary  # loaded already, with the registry

    summaries: dict[str, str] = {}
    for name in registry:
        point = registry.origin(name)
        if point is None:  # a discovered tool always has one
            continue
        if point.folder not in summaries:
            summaries[point.folder] = summary(point)
        yield {
            "name": name,
            "distribution": point.distribution,
            "version": point.version,
            "entry_point": point.value,
            "summary": summaries[point.folder],
        }


def installed_tool(name: str) -> tuple[Tool, dict[str, Any]]:
    """Load one tool and say where it comes from; CommandError for an unknown or broken one."""
    registry = discovered()
    try:
        with prints_aside():
            tool = registry[name]
    except UnknownToolError as unknown:
        raise CommandError(str(unknown), "ask-tools list", type="unknown_tool") from unknown
    except ToolError as broken:
        raise CommandError(broken.message, "details: ask-tools doctor", status=1, type=broken.type) from broken
    return tool, _origin(tool, name, registry)


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
        origin = {"distribution": point.distribution, "version": point.version, "entry_point": point.value}
    function = getattr(tool, "__wrapped__", None) or type(tool).execute
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is not None:
        origin |= {"file": code.co_filename, "line": code.co_firstlineno}
    return origin
