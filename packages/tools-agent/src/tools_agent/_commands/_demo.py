"""`scripted:demo`: a model that follows a script, to see an agent work without a network."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tools_agent import ScriptedProvider, ToolResult, User
from tools_core import ToolCall

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools_agent import Request

_EMPTY: Mapping[str, Any] = {"integer": 1, "number": 1, "boolean": False, "array": [], "object": {}}


def demo() -> ScriptedProvider:
    """Return a provider that lists the folder and writes the list to a file, or calls the tool in the prompt."""
    return ScriptedProvider(default=_reply)


def _reply(request: Request) -> Any:
    tools = {tool["name"]: tool for tool in request.tools}
    if not tools:
        return "I am a script, not a model, and need a tool: --tools ./weather.py:weather"
    start, prompt = max((place, each.content) for place, each in enumerate(request.messages) if isinstance(each, User))
    results = [message for message in request.messages[start:] if isinstance(message, ToolResult)]
    if {"list_directory", "write_file"} <= tools.keys():
        return _write_summary(prompt, results)
    if results:
        return f"{results[-1].name} returned: {results[-1].content}"
    name = next((name for name in tools if name in prompt.lower()), next(iter(tools)))
    arguments = _arguments(tools[name]["input_schema"], prompt)
    return [
        f"I am a script, not a model. I call {name} with the last word of the prompt.",
        ToolCall(None, name, arguments),
    ]


def _write_summary(prompt: str, results: Sequence[ToolResult]) -> Any:
    if not results:
        return ["I am a script, not a model. First I look at the folder.", ToolCall(None, "list_directory", {})]
    if len(results) == 1:
        summary = f"# Summary\n\nYou asked: {prompt}\n\n{results[0].content}\n"
        arguments = {"path": "summary.md", "content": summary}
        return ["Now I write the list to summary.md.", ToolCall(None, "write_file", arguments)]
    if results[-1].error is None:
        return "Done: summary.md has the list of files."
    return f"I could not write summary.md: {results[-1].content}"


def _arguments(schema: Mapping[str, Any], prompt: str) -> dict[str, Any]:
    """Return the required arguments: choices take their first value, text the last word of the prompt."""
    words = re.findall(r"[^\s?!,;]+", prompt.rstrip(".")) or ["demo"]
    required = {name: schema["properties"][name] for name in schema.get("required", ())}
    return {
        name: parameter["enum"][0] if "enum" in parameter else _EMPTY.get(parameter.get("type"), words[-1])
        for name, parameter in required.items()
    }
