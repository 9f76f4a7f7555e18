"""Deferred tools, whose definitions the model finds by search instead of reading all of them.

The model reads a catalogue in the description of `search_tools`. The definitions of its matches follow the other tools,
or the result of the call if the provider can load definitions there, so that the start of each request stays the same
and the provider's prompt cache holds. What the model has found is read from the session's results.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from tools_agent._messages import Message, ToolResult
from tools_core import Registry, Tool, UnknownToolError
from tools_runtime.search import MATCHES, NAME, ToolSearch, package_of


def matches_of(search: ToolSearch, messages: Iterable[Message]) -> dict[str, dict[str, Any]]:
    """Return the definitions that the searches in a conversation have found, in the order of their discovery."""
    names = [name for matches in matches_in(messages).values() for name in matches]
    return {name: search.definitions[name] for name in dict.fromkeys(names) if name in search.tools}


def matches_in(messages: Iterable[Message]) -> dict[str, Sequence[str]]:
    """Return the names that the searches in a conversation have found, by the id of the call."""
    return {
        message.tool_call_id: message.result.metadata[MATCHES]
        for message in messages
        if isinstance(message, ToolResult) and message.name == NAME and MATCHES in message.result.metadata
    }


def tool_search(option: Any, tools: Mapping[str, Tool], patterns: Any, budget: int) -> ToolSearch | None:
    """Return the search for the deferred tools; None without any.

    Tools are deferred if they are declared as such, if a pattern selects them, and by package, the largest first, until
    the definitions of the others have at most as many tokens as the budget.
    """
    packages = {name: package_of(option, name, tool) for name, tool in tools.items()}
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
    names: set[str] = set()
    words = [
        word.strip()
        for text in ([patterns] if isinstance(patterns, str) else patterns or ())
        for word in text.split(",")
    ]
    if not isinstance(option, Registry):  # names may have a colon, such as `mcp:web:search`
        for word in words:
            chosen = {name for name in tools if fnmatchcase(name, word)}
            if not chosen and "*" not in word:
                raise UnknownToolError(word, f"no tool {word!r}; there are: {', '.join(tools)}")
            names |= chosen
        return names
    for word in words:
        try:
            names.update(option.select(word))
        except UnknownToolError:
            if "*" not in word:
                raise
    return names & tools.keys()
