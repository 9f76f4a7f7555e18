"""What `ask-tools doctor` finds out of each package: how long it takes to load, and what it says of the machine."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tools_core._registry._package import one_line
from tools_core._values._errors import ToolError
from tools_core._values._jsonable import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools_core._registry._registry import Registry
    from tools_core._tools._tool import Tool

Facts = dict[str, Any]


def packages(registry: Registry) -> tuple[list[Facts], list[Facts]]:
    """Load everything; each distribution with its tools, its milliseconds and its facts, and what is wrong there."""
    for module in ("_as_tools", "_toolset"):  # what every package needs is no part of the time that one takes
        import_module(f"tools_core._tools.{module}")
    found: dict[str, Facts] = {}
    for name in registry:
        point = registry.origin(name)
        if point is None:  # it was registered, by whoever made this registry
            continue
        started = perf_counter()
        with suppress(ToolError):  # does not load, which the registry keeps among its problems
            registry.get(name)
        about = found.setdefault(point.distribution, _about(point.distribution, point.version))
        about["milliseconds"] += 1000 * (perf_counter() - started)
    problems: list[Facts] = []
    for name in registry:
        point = registry.origin(name)
        if point is None or point.distribution not in found:
            continue
        about = found[point.distribution]
        about["tools"].append(name)
        with suppress(ToolError):  # as above
            tool = registry.get(name)
            if tool is not None:
                problems += _diagnose(tool, about)
    for about in found.values():
        about["milliseconds"] = round(about["milliseconds"], 1)
    return list(found.values()), problems


def _about(distribution: str, version: str) -> Facts:
    return {"distribution": distribution, "version": version, "milliseconds": 0.0, "tools": [], "facts": {}}


def _diagnose(tool: Tool, about: Facts) -> Iterator[Facts]:
    """Add what a tool says of the machine; what other tools of the package said alike is there once."""
    try:
        said = clean(dict(tool.diagnose()))
    # It is another package's code, and its failure is what we are looking for.
    except Exception as broken:  # noqa: BLE001
        is_expected = isinstance(broken, ToolError)
        text = str(broken) if is_expected else f"{type(broken).__name__}: {broken}"
        yield {
            "name": tool.name,
            "distribution": about["distribution"],
            "version": about["version"],
            "error": one_line(text, 600),
            "fix": "as it says" if is_expected else f"pip install -U {about['distribution']}",
        }
        return
    facts = about["facts"]
    for key, value in said.items():
        if facts.setdefault(key, value) != value:
            facts[f"{tool.name} {key}"] = value
