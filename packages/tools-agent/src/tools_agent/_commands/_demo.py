"""`scripted:demo`: a model that follows a script, to see an agent work without a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_agent import ScriptedProvider, ToolResult, User
from tools_core import ToolCall

if TYPE_CHECKING:
    from tools_agent import Request


def demo() -> ScriptedProvider:
    """Return a provider that looks at the folder, and writes what it has found to a file."""
    return ScriptedProvider(default=_reply)


def _reply(request: Request) -> Any:
    names = {tool["name"] for tool in request.tools}
    if not {"list_directory", "write_file"} <= names:
        return "I am a script, and need the tools list_directory and write_file: pip install tools-filesystem"
    place, prompt = max((place, each.content) for place, each in enumerate(request.messages) if isinstance(each, User))
    results = [message for message in request.messages[place:] if isinstance(message, ToolResult)]
    if not results:
        return ["I am a script, not a model. First I look at the folder.", ToolCall(None, "list_directory", {})]
    if len(results) == 1:
        summary = f"# Summary\n\nYou asked: {prompt}\n\n{results[0].content}\n"
        arguments = {"path": "summary.md", "content": summary}
        return ["Now I write what I have found to summary.md.", ToolCall(None, "write_file", arguments)]
    if results[-1].error is None:
        return "Done: summary.md has the list of files."
    return f"I could not write summary.md: {results[-1].content}"
