"""`ToolSearch`: tools whose definitions the model finds by search instead of reading all of them.

The model reads a catalogue in the description of `search_tools`. The definitions of its matches follow the other tools,
or the result of the call if the provider can load definitions there, so that the start of each request stays the same
and the provider's prompt cache holds. What the model has found is read from the session's results.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from importlib.metadata import PackageNotFoundError, metadata
from typing import Annotated, Any

from tools_agent._messages import Message, ToolResult
from tools_core import Limits, Registry, Result, Tool, UnknownToolError, tool
from tools_core.search import Index, installed_embed

NAME = "search_tools"
MATCHES = "matches"  # the member of a result's metadata with the names of the tools
_MAX_LINE = 160  # characters of a package in the catalogue
_MAX_PACKAGES = 100
_DESCRIPTION = """\
Find tools by what they do. Most tools are not listed here: search before you conclude that a task is impossible. The \
matching tools can be called from your next step on; search again with other words if none of them fits.

Tools that can be found:
"""


class ToolSearch:
    """The deferred tools of an agent, by name, and the tool that finds them."""

    def __init__(self, tools: Mapping[str, Tool], packages: Mapping[str, str]) -> None:
        self.tools = tools
        self._packages = packages

    @cached_property
    def definitions(self) -> dict[str, dict[str, Any]]:
        """The definitions by name."""
        return {name: {**tool.definition, "name": name} for name, tool in self.tools.items()}

    @cached_property
    def index(self) -> Index:
        """The index of the definitions."""
        return Index(self.definitions.values(), embed=installed_embed())

    @cached_property
    def tool(self) -> Tool:
        """The tool that the model calls."""

        @tool(name=NAME, description=_DESCRIPTION + self.catalogue, read_only=True)
        def search_tools(
            query: Annotated[str, "Words for what the tool should do, and for its arguments"],
            limit: Annotated[int, "The number of tools", Limits(ge=1, le=50)] = 10,
        ) -> Result:
            names = [hit.name for hit in self.index.search(query, limit)]
            if not names:
                return Result.ok("No tool matches. Search with other words.", metadata={MATCHES: []})
            lines = [f"{name}: {_first_line(self.tools[name])}" for name in names]
            return Result.ok("\n".join(lines), metadata={MATCHES: names})

        return search_tools

    @property
    def catalogue(self) -> str:
        """One line for each package with deferred tools."""
        groups: dict[str, list[str]] = defaultdict(list)
        for name in self.tools:
            groups[self._packages[name]].append(name)
        lines = [f"- {package} ({len(names)} tools): {_summary(package, names)}" for package, names in groups.items()]
        more = [f"- and {len(lines) - _MAX_PACKAGES} more packages"] if len(lines) > _MAX_PACKAGES else []
        return "\n".join([line[:_MAX_LINE] for line in lines[:_MAX_PACKAGES]] + more)

    def matches(self, messages: Iterable[Message]) -> dict[str, dict[str, Any]]:
        """Return the definitions that the searches in a conversation have found, in the order of their discovery."""
        names = [name for matches in matches_in(messages).values() for name in matches]
        return {name: self.definitions[name] for name in dict.fromkeys(names) if name in self.tools}


def matches_in(messages: Iterable[Message]) -> dict[str, Sequence[str]]:
    """Return the names that the searches in a conversation have found, by the id of the call."""
    return {
        message.tool_call_id: message.result.metadata[MATCHES]
        for message in messages
        if isinstance(message, ToolResult) and message.name == NAME and MATCHES in message.result.metadata
    }


def tool_search(option: Any, tools: Mapping[str, Tool], patterns: Any, budget: int) -> ToolSearch | None:
    """Return the search for the deferred tools, None if there are none.

    Tools are deferred if they say so, if a pattern selects them, and by package, the largest first, until the
    definitions of the others have at most as many tokens as the budget.
    """
    packages = {name: _package_of(option, name, tool) for name, tool in tools.items()}
    deferred = {name for name, tool in tools.items() if tool.deferred} | _selected(patterns, option, tools)
    sizes = {name: estimate_tokens(tool) for name, tool in tools.items() if name not in deferred}
    groups: dict[str, list[str]] = defaultdict(list)
    for name in sizes:
        groups[packages[name]].append(name)
    while sum(sizes.values()) > budget:
        largest = max(groups.values(), key=lambda names: sum(sizes.get(name, 0) for name in names))
        deferred.update(largest)
        sizes = {name: size for name, size in sizes.items() if name not in deferred}
    if not deferred:
        return None
    return ToolSearch({name: tool for name, tool in tools.items() if name in deferred}, packages)


def estimate_tokens(tool: Tool) -> int:
    """Return roughly how many tokens a definition has: a quarter of its characters."""
    return len(json.dumps(tool.definition)) // 4


def _selected(patterns: Any, option: Any, tools: Mapping[str, Tool]) -> set[str]:
    """Return the names that patterns select; a pattern with a wildcard may match no tool."""
    if not isinstance(option, Registry):
        option = Registry()
        for name, tool in tools.items():
            option.register(tool if tool.name == name else tool.renamed(name))
    names: set[str] = set()
    for pattern in [patterns] if isinstance(patterns, str) else patterns or ():
        try:
            names.update(option.select(pattern))
        except UnknownToolError:
            if "*" not in pattern:
                raise
    return names & tools.keys()


def _package_of(option: Any, name: str, tool: Tool) -> str:
    """Return the distribution or the MCP server of a tool, else the module that defines it."""
    point = option.origin(name) if isinstance(option, Registry) else None
    module: str = getattr(tool, "__module__", None) or type(tool).__module__
    return point.distribution if point is not None else module


def _summary(package: str, names: Sequence[str]) -> str:
    try:
        summary = metadata(package)["Summary"]
    except (PackageNotFoundError, ValueError):
        summary = None
    return summary or ", ".join(names)


def _first_line(tool: Tool) -> str:
    return str(tool.definition["description"]).strip().partition("\n")[0]
